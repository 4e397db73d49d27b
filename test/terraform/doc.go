// Package terraform holds Muster to the AWS provider of Terraform: what it applies
// it plans no second time, updates, and destroys. It runs where terraform and the
// provider are installed. Elsewhere the requests that the provider made in the same
// story (testdata) are made again, and the answers compared.
package terraform
