package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

var assignors = map[string]func() kgo.GroupBalancer{
	"range": kgo.RangeBalancer, "roundrobin": kgo.RoundRobinBalancer,
	"sticky": kgo.StickyBalancer, "cooperative-sticky": kgo.CooperativeStickyBalancer,
}

// consume holds every rebalance back until what was polled is told and committed.
func consume(ctx context.Context, config ConsumerConfig) error {
	options, err := membership(config)
	if err != nil {
		return err
	}
	consumer, err := client(config.Common, options...)
	if err != nil {
		return err
	}
	defer consumer.CloseAllowingRebalance()
	for {
		fetches := consumer.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		fetches.EachError(func(topic string, partition int32, err error) {
			TellError(fmt.Errorf("%s-%d: %w", topic, partition, err), false)
		})
		if polled := fetches.Records(); len(polled) > 0 {
			tellAndCommit(ctx, consumer, polled)
		}
		consumer.AllowRebalance()
	}
}

func tellAndCommit(ctx context.Context, consumer *kgo.Client, polled []*kgo.Record) {
	records := make([]Record, len(polled))
	for i, record := range polled {
		records[i] = Record{Offset{Partition{record.Topic, int(record.Partition)}, record.Offset}, record.Value}
	}
	offsets := TellRecords(records)
	// Told to close or not, what was told is committed.
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := consumer.CommitRecords(limited, polled...); err != nil {
		TellError(fmt.Errorf("commit: %w", err), false)
		return
	}
	TellCommitted(offsets)
}

func membership(config ConsumerConfig) ([]kgo.Opt, error) {
	options := []kgo.Opt{
		kgo.ConsumerGroup(config.Group),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(tellMoved("assigned")),
		kgo.OnPartitionsRevoked(tellTaken("revoked")),
		kgo.OnPartitionsLost(tellTaken("lost")),
	}
	if config.Pattern != nil {
		options = append(options, kgo.ConsumeRegex(), kgo.ConsumeTopics(*config.Pattern))
	} else {
		options = append(options, kgo.ConsumeTopics(config.Topics...))
	}
	var balancers []kgo.GroupBalancer
	for _, name := range config.Assignors {
		assignor, known := assignors[name]
		if !known {
			return nil, fmt.Errorf("there is no assignor %q", name)
		}
		balancers = append(balancers, assignor())
	}
	if len(balancers) > 0 {
		options = append(options, kgo.Balancers(balancers...))
	}
	if config.InstanceID != nil {
		options = append(options, kgo.InstanceID(*config.InstanceID))
	}
	if config.SessionTimeoutMs != 0 {
		options = append(options, kgo.SessionTimeout(Milliseconds(config.SessionTimeoutMs)))
	}
	if config.HeartbeatIntervalMs != 0 {
		options = append(options, kgo.HeartbeatInterval(Milliseconds(config.HeartbeatIntervalMs)))
	}
	if config.RebalanceTimeoutMs != 0 {
		options = append(options, kgo.RebalanceTimeout(Milliseconds(config.RebalanceTimeoutMs)))
	}
	if age := Milliseconds(config.MetadataMaxAgeMs); age != 0 {
		if age < Milliseconds(10) {
			return nil, errors.New("metadata_max_age_ms is 10 at least")
		}
		// The client waits five seconds between two askings by default, and takes no maximum below that minimum.
		options = append(options, kgo.MetadataMaxAge(age), kgo.MetadataMinAge(min(age, Milliseconds(1000))))
	}
	return options, nil
}

func tellMoved(event string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
		TellPartitions(event, partitions(moved))
	}
}

// tellTaken leaves out that nothing was taken, as it is at the end of each cooperative generation.
func tellTaken(event string) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
		if taken := partitions(moved); len(taken) > 0 {
			TellPartitions(event, taken)
		}
	}
}

func partitions(byTopic map[string][]int32) []Partition {
	var all []Partition
	for topic, numbers := range byTopic {
		for _, number := range numbers {
			all = append(all, Partition{topic, int(number)})
		}
	}
	return all
}
