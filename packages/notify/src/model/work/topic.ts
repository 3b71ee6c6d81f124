import type { PartitionOwnership } from './partition.ts'

/** One message of the topic `notifications`, leased to us until it is answered. */
export interface TopicMessage {
  /** Undefined when it is not UTF-8. */
  readonly text: string | undefined
  /**
   * `stream:sequence:published`, the time in nanoseconds: the same however often the message is delivered, and another one
   * for a message of a stream that was made anew and counts from one again.
   */
  readonly key: string
  /**
   * Its place among all messages, whatever stream and partition they came by: who was published later has a greater one.
   * When it was published, in microseconds.
   */
  readonly place: number
  /** When it was published, Unix milliseconds; left out where that is not known. */
  readonly publishedAt?: number
  /** Whether it is of a partition, whose messages of one user are to be accepted in their order. */
  readonly isOrdered?: boolean
  /** It is committed. */
  ack(): void
  /** It failed by its own fault; deliver it again after a while. Others go on. */
  later(delayMs: number): void
  /** The surroundings failed; deliver it again after a while, and where it is ordered all that follow it. */
  again(delayMs: number): void
  /**
   * A part of the surroundings failed that other messages may not need: deliver it again after a while, and let no number
   * of such messages hold up others. Of ordered ones those that follow wait as well.
   */
  setAside(delayMs: number): Promise<void>
  /** It can never be taken. */
  terminate(reason: string): void
}

/** A change of state on its way to the stream of events. */
export interface StreamedEvent {
  /** The same at every try, so that the stream keeps it once. */
  readonly id: string
  readonly payload: Readonly<Record<string, unknown>>
}

/**
 * Whether a process reaches the server of the topic: for certain; not for so long that others should read what it does; or
 * it is not known, as when the server did not answer for a moment, or has not answered for long yet.
 */
export type TopicReach = 'reached' | 'unsure' | 'lost'

/** The queue that events come in by and state changes go out by. */
export interface Topic {
  /** How many partitions it has. With 1, every process reads all of it. */
  readonly partitions: number
  /** Whether this process reaches its server. */
  reach(): TopicReach
  /**
   * Hands every message to `handle`, several at once. With one partition all processes share all messages, whatever they
   * own. With more, each is read by the process that owns it.
   */
  consume(
    handle: (message: TopicMessage) => Promise<void>,
    ownership: PartitionOwnership,
  ): Promise<{
    /** Takes no further message and resolves when those under way are done. */
    stop(): Promise<void>
  }>
  /** Resolves once the stream keeps them all, in this order. Calls at once are made one after the other. */
  publish(events: readonly StreamedEvent[]): Promise<void>
  ping(): Promise<void>
  close(): Promise<void>
}
