export interface OutboxMessage {
  readonly id: string
  readonly kind: 'mail' | 'recipient' | 'logout'
  readonly subject: string
  readonly payloadSealed: string
  readonly dueAt: number
  readonly expiresAt: number
}

export interface Outbox {
  put(messages: readonly OutboxMessage[]): Promise<void>
  /** Takes due messages of these kinds for `leaseMs`; nobody else gets them in that time. */
  claim(
    kinds: readonly OutboxMessage['kind'][],
    now: number,
    leaseMs: number,
    most: number,
  ): Promise<(OutboxMessage & { attempts: number })[]>
  done(id: string): Promise<void>
  /** Tries again at `dueAt`. */
  postpone(id: string, dueAt: number): Promise<void>
}
