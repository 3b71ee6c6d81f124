import type { ManagementChange } from '@gatehouse/kit'

export interface AuditEvent {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly service: ManagementChange['service']
  readonly actor?: string | undefined
  /** The management role by which a person acted. */
  readonly role?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
  /** What was changed through management, and how. */
  readonly action?: string | undefined
  readonly target?: ManagementChange['target'] | undefined
  readonly before?: Readonly<Record<string, unknown>> | undefined
  readonly after?: Readonly<Record<string, unknown>> | undefined
  readonly details: Readonly<Record<string, unknown>>
}

export interface AuditQuery {
  readonly type?: string | undefined
  readonly subject?: string | undefined
  readonly actor?: string | undefined
  readonly clientId?: string | undefined
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

export interface AuditTrail {
  record(event: AuditEvent): Promise<void>
  list(query: AuditQuery): Promise<AuditEvent[]>
}

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
    limit: number,
  ): Promise<(OutboxMessage & { attempts: number })[]>
  remove(id: string): Promise<void>
  /** Tries again at `dueAt`. */
  postpone(id: string, dueAt: number): Promise<void>
}

export interface Purge {
  /** Removes up to `most` rows of each kind that have ended; answers how many of each went. */
  purge(now: number, auditBefore: number, limit: number): Promise<Readonly<Record<string, number>>>
}
