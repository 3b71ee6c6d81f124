import { Readable } from 'node:stream'
import { type Http, instantOf } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { AuditEvent, AuditQuery, AuditTrail } from '../store.ts'
import { auditEventAnswer, pageAnswer } from './answers.ts'
import { doc, type Gate, pageOf } from './gate.ts'
import { adminScopes } from './scopes.ts'

const members = {
  type: Type.Optional(Type.String({ maxLength: 64 })),
  subject: Type.Optional(Type.String({ maxLength: 256 })),
  since: Type.Optional(Type.String({ format: 'date-time' })),
  until: Type.Optional(Type.String({ format: 'date-time' })),
}
const Filter = Type.Object(members, { additionalProperties: false })
const PagedFilter = Type.Object(
  {
    ...members,
    after: Type.Optional(Type.String({ format: 'uuid', description: 'The `next` of the page before.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
  },
  { additionalProperties: false },
)

const exportedAtOnce = 1_000
const lines = {
  description: 'An event a line.',
  content: { 'application/x-ndjson': { schema: Type.String() } },
}

/** The audit trail: queried a page at a time, or exported whole as lines of JSON. */
export function auditRoutes(http: Http, { parts, check }: Gate): void {
  const scope = adminScopes.audit
  const path = '/admin/v1/audit-events'
  const list = { ...doc('Query the audit trail', scope, pageAnswer(auditEventAnswer)), querystring: PagedFilter }
  http.get(path, { schema: list }, async (request) => {
    await check(request, scope)
    const { after, limit = 100 } = request.query
    const events = await parts.store.audit.list({ ...queryOf(request.query), after, most: limit })
    return pageOf(events.map(answerOf), limit, (event) => event.id)
  })
  const all = { ...doc('Export the audit trail as lines of JSON', scope, lines), querystring: Filter }
  http.get(`${path}/export`, { schema: all }, async (request, reply) => {
    await check(request, scope)
    const events = exported(parts.store.audit, queryOf(request.query))
    return reply.type('application/x-ndjson').send(Readable.from(events))
  })
}

type FilterOnly = Omit<AuditQuery, 'after' | 'most'>

function queryOf({ type, subject, since, until }: Static<typeof Filter>): FilterOnly {
  const time = (text: string | undefined) => (text === undefined ? undefined : instantOf(text))
  return { type, subject, since: time(since), until: time(until) }
}

async function* exported(trail: AuditTrail, query: FilterOnly): AsyncGenerator<string> {
  let after: string | undefined
  for (;;) {
    const events: AuditEvent[] = await trail.list({ ...query, after, most: exportedAtOnce })
    if (events.length > 0) yield `${events.map((event) => JSON.stringify(answerOf(event))).join('\n')}\n`
    if (events.length < exportedAtOnce) return
    after = events.at(-1)?.id
  }
}

function answerOf({ id, at, type, actor, subject, clientId, address, requestId, details }: AuditEvent) {
  return {
    id,
    at: new Date(at).toISOString(),
    type,
    ...(actor === undefined ? {} : { actor }),
    ...(subject === undefined ? {} : { subject }),
    ...(clientId === undefined ? {} : { client_id: clientId }),
    ...(address === undefined ? {} : { address }),
    ...(requestId === undefined ? {} : { request_id: requestId }),
    details,
  }
}
