// A kfake cluster of one broker, until SIGTERM or SIGINT.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
)

// settings are what is given as -override key=value, any number of times.
type settings map[string]string

func (s settings) String() string { return "" }

func (s settings) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found {
		return fmt.Errorf("%q is not key=value", text)
	}
	s[key] = value
	return nil
}

func main() {
	overrides := settings{}
	port := flag.Int("port", 0, "the port on 127.0.0.1")
	directory := flag.String("directory", "", "where it keeps its data; in memory without")
	partitions := flag.Int("partitions", 1, "what a topic gets that is created without a number")
	flag.Var(overrides, "override", "a setting of the broker, key=value")
	flag.Parse()

	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)

	options := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.Ports(*port),
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(*partitions),
		kfake.BrokerConfigs(overrides),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelWarn)),
	}
	if *directory != "" {
		options = append(options, kfake.DataDir(*directory))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-stop
	cluster.Close()
}
