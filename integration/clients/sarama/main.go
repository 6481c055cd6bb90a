// A driver of sarama.

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

func main() {
	Driver{
		Name:       "sarama",
		Module:     "github.com/IBM/sarama",
		Consume:    consume,
		Produce:    produce,
		Administer: administer,
	}.Run()
}

func errorCode(err error) (int, bool) {
	var known sarama.KError
	if errors.As(err, &known) {
		return int(known), true
	}
	return 0, false
}

// settings are the client's own for the newest server that it knows; it picks most request versions by that.
func settings(config Common) *sarama.Config {
	settings := sarama.NewConfig()
	settings.ClientID = config.ClientID
	settings.Version = sarama.MaxVersion
	return settings
}

var compressions = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func produce(_ context.Context, config ProducerConfig) error {
	compression, known := compressions[config.Compression]
	if !known {
		return fmt.Errorf("there is no compression %q", config.Compression)
	}
	settings := settings(config.Common)
	settings.Producer.Partitioner = sarama.NewManualPartitioner
	settings.Producer.Compression = compression
	settings.Producer.RequiredAcks = sarama.RequiredAcks(config.Acks)
	settings.Producer.Return.Successes = true
	if config.Idempotence != nil && *config.Idempotence {
		settings.Producer.Idempotent = true
		settings.Net.MaxOpenRequests = 1 // the client takes no other number together with that
	}
	producer, err := sarama.NewSyncProducer([]string{config.Bootstrap}, settings)
	if err != nil {
		return err
	}
	messages := make([]*sarama.ProducerMessage, config.Count)
	for i := range messages {
		partition, key, value := config.Record(i)
		messages[i] = &sarama.ProducerMessage{
			Topic: config.Topic, Partition: int32(partition), Key: sarama.ByteEncoder(key), Value: sarama.ByteEncoder(value),
		}
	}
	if err := producer.SendMessages(messages); err != nil {
		var each sarama.ProducerErrors
		if errors.As(err, &each) && len(each) > 0 {
			err = fmt.Errorf("%d records were not taken, the first for: %w", len(each), each[0].Err)
		}
		return errors.Join(err, producer.Close())
	}
	return producer.Close()
}
