// A driver of franz-go.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	Driver{
		Name:       "franz-go",
		Module:     "github.com/twmb/franz-go",
		Consume:    consume,
		Produce:    produce,
		Administer: administer,
	}.Run()
}

func errorCode(err error) (int, bool) {
	var known *kerr.Error
	if errors.As(err, &known) {
		return int(known.Code), true
	}
	return 0, false
}

func client(config Common, more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(config.Bootstrap), kgo.ClientID(config.ClientID)}, more...)...)
}

var compressions = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

var acks = map[int]kgo.Acks{-1: kgo.AllISRAcks(), 1: kgo.LeaderAck(), 0: kgo.NoAck()}

func produce(ctx context.Context, config ProducerConfig) error {
	compression, known := compressions[config.Compression]
	if !known {
		return fmt.Errorf("there is no compression %q", config.Compression)
	}
	waitFor, known := acks[config.Acks]
	if !known {
		return fmt.Errorf("acks can be -1, 0 or 1, not %d", config.Acks)
	}
	options := []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(compression),
		kgo.RequiredAcks(waitFor),
	}
	// By default the client is idempotent, and then it takes no other acks than all.
	if idempotence := config.Idempotence; idempotence != nil && !*idempotence || idempotence == nil && config.Acks != -1 {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	producer, err := client(config.Common, options...)
	if err != nil {
		return err
	}
	defer producer.Close()
	results := make(chan error, config.Count)
	for i := range config.Count {
		partition, key, value := config.Record(i)
		record := &kgo.Record{Topic: config.Topic, Partition: int32(partition), Key: key, Value: value}
		producer.Produce(ctx, record, func(_ *kgo.Record, err error) { results <- err })
	}
	for range config.Count {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}
