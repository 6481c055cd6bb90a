// A driver of segmentio/kafka-go.

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

func main() {
	Driver{
		Name:       "kafka-go",
		Module:     "github.com/segmentio/kafka-go",
		Consume:    consume,
		Produce:    produce,
		Administer: administer,
	}.Run()
}

func errorCode(err error) (int, bool) {
	var known kafka.Error
	if errors.As(err, &known) {
		return int(known), true
	}
	return 0, false
}

var compressions = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

func produce(ctx context.Context, config ProducerConfig) error {
	compression, known := compressions[config.Compression]
	if !known {
		return fmt.Errorf("there is no compression %q", config.Compression)
	}
	if config.Idempotence != nil && *config.Idempotence {
		return errors.New("the client has no idempotent producer")
	}
	acks := kafka.RequiredAcks(config.Acks)
	if acks != kafka.RequireAll && acks != kafka.RequireOne && acks != kafka.RequireNone {
		return fmt.Errorf("acks can be -1, 0 or 1, not %d", config.Acks)
	}
	transport := &kafka.Transport{ClientID: config.ClientID}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{
		Addr:         kafka.TCP(config.Bootstrap),
		Topic:        config.Topic,
		Transport:    transport,
		RequiredAcks: acks,
		Compression:  compression,
		BatchTimeout: 10 * time.Millisecond, // by default it waits a second for a batch to fill
		Balancer: kafka.BalancerFunc(func(message kafka.Message, _ ...int) int {
			return message.WriterData.(int)
		}),
	}
	messages := make([]kafka.Message, config.Count)
	for i := range messages {
		partition, key, value := config.Record(i)
		messages[i] = kafka.Message{Key: key, Value: value, WriterData: partition}
	}
	if err := writer.WriteMessages(ctx, messages...); err != nil {
		var each kafka.WriteErrors
		if errors.As(err, &each) {
			for _, first := range each {
				if first != nil {
					err = fmt.Errorf("%d records were not taken, the first for: %w", each.Count(), first)
					break
				}
			}
		}
		return errors.Join(err, writer.Close())
	}
	return writer.Close()
}
