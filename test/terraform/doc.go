// Package terraform tests Muster with the AWS provider of Terraform: what was applied
// is not planned again, and can be updated and destroyed. It requires that terraform
// and the provider are installed. Without them, the requests that the provider sent in
// the same story (testdata) are replayed, and the responses compared.
package terraform
