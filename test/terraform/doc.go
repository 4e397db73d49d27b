// Package terraform holds Muster to the AWS provider of Terraform: what it applies
// it plans no second time, updates, and destroys. It runs where terraform and the
// provider are installed; requests that the provider made are replayed elsewhere.
package terraform
