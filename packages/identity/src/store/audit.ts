export interface AuditEvent {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly actor?: string | undefined
  readonly subject?: string | undefined
  readonly clientId?: string | undefined
  readonly address?: string | undefined
  readonly requestId?: string | undefined
  readonly details: Readonly<Record<string, unknown>>
}

export interface AuditQuery {
  readonly type?: string | undefined
  readonly subject?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
  /** The id of the last event seen. */
  readonly after?: string | undefined
  readonly most: number
}

export interface AuditTrail {
  record(event: AuditEvent): Promise<void>
  list(query: AuditQuery): Promise<AuditEvent[]>
}
