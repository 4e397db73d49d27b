package node

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
)

// Client returns AWS's Go client for a base URL, with an access key that only a Muster
// that accepts any credentials takes. It speaks CBOR.
func Client(url string, change ...func(*gamelift.Options)) *gamelift.Client {
	return ClientAs(url, "AKIDANY", "secret", change...)
}

// ClientAs is like Client, with the given access key.
func ClientAs(url, accessKeyID, secret string, change ...func(*gamelift.Options)) *gamelift.Client {
	return gamelift.New(gamelift.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url),
		Credentials: credentials.NewStaticCredentialsProvider(accessKeyID, secret, ""),
	}, change...)
}
