// Package yamlfile reads and writes YAML files whose keys are the names of Go fields, such
// as the types of AWS's SDK. Reading is strict: each key and value that is wrong is reported
// with file, line, path and what was probably meant.
package yamlfile
