// Package pages computes what the console's pages show: views of the state at this moment
// (console.View), and what was recorded of the last hour.
//
// What the API answers already, a page asks the API.
package pages
