import type { ManagementChange } from '@gatehouse/kit'

/** An event of the audit trail. `at` is in Unix milliseconds. */
export interface AuditEvent {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly service: ManagementChange['service']
  readonly actor?: string | undefined
  /** The management role that allowed the action. */
  readonly role?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
  /** The change that was made through management. */
  readonly action?: string | undefined
  readonly target?: ManagementChange['target'] | undefined
  readonly before?: Readonly<Record<string, unknown>> | undefined
  readonly after?: Readonly<Record<string, unknown>> | undefined
  readonly details: Readonly<Record<string, unknown>>
}

/** Selects audit events. */
export interface AuditQuery {
  readonly type?: string | undefined
  readonly subject?: string | undefined
  readonly actor?: string | undefined
  readonly clientId?: string | undefined
  readonly address?: string | undefined
  readonly service?: string | undefined
  readonly requestId?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** Newest first. Default: oldest first. */
  readonly descending?: boolean | undefined
  /** The id of the last event seen. */
  readonly after?: string | undefined
  readonly limit: number
}

/** The audit trail. */
export interface AuditTrail {
  record(event: AuditEvent): Promise<void>
  list(query: AuditQuery): Promise<AuditEvent[]>
  /** Until when events were removed because they were kept long enough, in Unix milliseconds. */
  findRemoval(): Promise<number | undefined>
}

/** A message that is delivered after the commit, sealed. Times are Unix milliseconds. */
export interface OutboxMessage {
  readonly id: string
  readonly kind: 'mail' | 'recipient' | 'members' | 'logout' | 'logo'
  readonly subject: string
  readonly payloadSealed: string
  readonly dueAt: number
  readonly expiresAt: number
  /** Stores the message only while the subject got fewer than `count` of this kind within the window. */
  readonly bound?: MessageBound
}

/** How many messages of a kind are stored for one subject. */
export interface MessageBound {
  readonly kind: string
  readonly count: number
  readonly windowMs: number
}

/** Messages that are delivered after the commit of their cause. */
export interface Outbox {
  put(messages: readonly OutboxMessage[]): Promise<void>
  /** Leases due messages of these kinds for `leaseMs`. */
  claim(
    kinds: readonly OutboxMessage['kind'][],
    now: number,
    leaseMs: number,
    limit: number,
  ): Promise<(OutboxMessage & { attempts: number })[]>
  remove(id: string): Promise<void>
  /** Puts others in the place of a message, in one step; without effect when it was removed or replaced before. */
  replace(id: string, messages: readonly OutboxMessage[]): Promise<void>
  /** Schedules the next attempt at `dueAt`. */
  postpone(id: string, dueAt: number): Promise<void>
}

/** Deletes expired rows. */
export interface Purge {
  /** Deletes up to `limit` expired rows of each table; returns how many of each. */
  purge(now: number, auditBefore: number, limit: number): Promise<Readonly<Record<string, number>>>
}
