// grpc-go against a running server: client [-ca FILE [-cert FILE -key FILE]] TARGET. Prints a JSON
// line for each case, {"test", "outcome": "passed" | "failed", "detail"}. The server has the models
// that test/clients/support.ts gives it. Test time only.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

type outcome struct {
	Test    string `json:"test"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail"`
}

func transport(ca, cert, key string) (credentials.TransportCredentials, error) {
	if ca == "" {
		return insecure.NewCredentials(), nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate", ca)
	}
	config := &tls.Config{RootCAs: roots}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(config), nil
}

func run(target, ca, cert, key string) error {
	security, err := transport(ca, cert, key)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(security))
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, one := range cases {
		ctx, cancel := context.WithTimeout(context.Background(), waitMax)
		line := outcome{Test: one.name, Outcome: "passed"}
		if err := one.run(ctx, conn); err != nil {
			line.Outcome, line.Detail = "failed", err.Error()
		}
		cancel()
		if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	ca := flag.String("ca", "", "PEM file of who signed the server's certificate; without: no TLS")
	cert := flag.String("cert", "", "PEM file of the client's certificate")
	key := flag.String("key", "", "PEM file of its key")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *ca, *cert, *key); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}
