import type { Channel } from './channel.ts'
import type { OutgoingMessage, Target } from './message.ts'
import type { ReportReader } from './report.ts'
import type { SendResult } from './send-result.ts'

/** Sends messages of one channel, and reads what is reported about them later. */
export interface Provider {
  /** Unique among the providers of an application: it identifies the provider in logs, metrics and report URLs. */
  readonly name: string
  readonly channel: Channel
  /** The maximum duration of a `send` call, in milliseconds. */
  readonly timeoutMs: number
  /** The maximum number of messages in a `send` call. Default 1. */
  readonly batchSize?: number
  /** Whether the provider can send to this target. Default: to every target of its channel. */
  supports?(target: Target): boolean
  /** Why a device token has the wrong form, or undefined if it can be valid. Call it when a device registers. */
  checkToken?(token: string): string | undefined
  /**
   * Sends messages and resolves to one result each, in the same order. It rejects only if the provider itself is broken;
   * treat that as `ambiguous` for every message.
   */
  send(messages: readonly OutgoingMessage[], signal: AbortSignal): Promise<readonly SendResult[]>
  /** Verifies and reads the reports of the provider. Absent if it reports nothing, or reports are not configured. */
  readonly reports?: ReportReader
  /** Closes all connections. Calls in progress become `ambiguous`. */
  close?(): Promise<void>
}
