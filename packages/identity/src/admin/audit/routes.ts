import { Readable } from 'node:stream'
import {
  createPage,
  defaultPageSize,
  type Http,
  instantOf,
  type ManagementChange,
  pageMembers,
  pageSchema,
  recordChange,
} from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import { changeRecorder } from '../../audit/record.ts'
import type { AuditEvent, AuditQuery, AuditTrail } from '../../store/index.ts'
import { maskEvent, maskUnlessPermitted, refuseGuesses } from '../masking.ts'
import { type AdminAccess, describeRoute } from '../required-scope.ts'
import { auditEventSchema } from '../responses.ts'
import { readScopes } from '../scopes.ts'

const filter = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))
const time = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))
const members = {
  type: Type.Optional(Type.String({ maxLength: 64, description: 'Only events of this type.' })),
  subject: filter('Only events about this user or client.'),
  actor: filter('Only events that this user or client caused.'),
  client_id: filter('Only events of this client.'),
  address: filter('Only events of this IP address.'),
  service: filter('Only events of this service: identity, notify or gateway.'),
  request_id: filter('Only events of this request.'),
  since: time('Only events at or after this time.'),
  until: time('Only events before this time.'),
}
const Filter = Type.Object(members, { additionalProperties: false })
const PagedFilter = Type.Object(
  {
    ...members,
    ...pageMembers(Type.String({ format: 'uuid', description: 'The `next` of the previous page.' })),
    order: Type.Optional(
      Type.Unsafe<'asc' | 'desc'>({
        type: 'string',
        enum: ['asc', 'desc'],
        default: 'desc',
        description: 'The order by time: the newest or the oldest first.',
      }),
    ),
  },
  { additionalProperties: false },
)

const auditPageSchema = Type.Object({
  ...pageSchema(auditEventSchema).properties,
  removed_before: Type.Optional(
    Type.String({ format: 'date-time', description: 'Earlier events were removed, since they were kept long enough.' }),
  ),
})

const path = '/admin/v1/audit-events'
const recordScope = 'write:audit'
const exportBatch = 1_000
const lines = {
  description: 'One event per line.',
  content: { 'application/x-ndjson': { schema: Type.String() } },
}

/** The audit trail: read page by page, or exported as lines of JSON; other services add to it. */
export function auditRoutes(http: Http, access: AdminAccess): void {
  readingRoutes(http, access)
  recordingRoute(http, access)
}

function readingRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const scope = readScopes.audit
  const list = { ...describeRoute('auditEvents.list', scope, auditPageSchema), querystring: PagedFilter }
  http.get(path, { schema: list }, async (request) => {
    const by = await requireScope(request, scope)
    refuseGuesses(by, 'address', request.query.address)
    const { cursor: after, limit = defaultPageSize, order } = request.query
    const query = { ...parseFilter(request.query), after, limit, descending: order !== 'asc' }
    const [events, removal] = await Promise.all([context.store.audit.list(query), context.store.audit.findRemoval()])
    const page = createPage(
      events.map((event) => formatEvent(maskUnlessPermitted(by, event, maskEvent))),
      request.query,
      (event) => event.id,
    )
    return { ...page, ...(removal === undefined ? {} : { removed_before: new Date(removal).toISOString() }) }
  })
  const all = { ...describeRoute('auditEvents.export', scope, lines), querystring: Filter }
  http.get(`${path}/export`, { schema: all }, async (request, reply) => {
    const by = await requireScope(request, scope)
    refuseGuesses(by, 'address', request.query.address)
    const query = parseFilter(request.query)
    const events = exportEvents(context.store.audit, query, (event) =>
      formatEvent(maskUnlessPermitted(by, event, maskEvent)),
    )
    return reply.type('application/x-ndjson').send(Readable.from(events))
  })
}

type FilterOnly = Omit<AuditQuery, 'after' | 'limit' | 'descending'>

function parseFilter({
  since,
  until,
  client_id,
  request_id,
  type,
  subject,
  actor,
  address,
  service,
}: Static<typeof Filter>): FilterOnly {
  const time = (text: string | undefined) => (text === undefined ? undefined : instantOf(text))
  const names = { type, subject, actor, address, service, clientId: client_id, requestId: request_id }
  return { ...names, since: time(since), until: time(until) }
}

async function* exportEvents(
  trail: AuditTrail,
  query: FilterOnly,
  answer: (event: AuditEvent) => object,
): AsyncGenerator<string> {
  let after: string | undefined
  for (;;) {
    const events: AuditEvent[] = await trail.list({ ...query, after, limit: exportBatch })
    if (events.length > 0) yield `${events.map((event) => JSON.stringify(answer(event))).join('\n')}\n`
    if (events.length < exportBatch) return
    after = events.at(-1)?.id
  }
}

function formatEvent(event: AuditEvent) {
  const { at, clientId, requestId, details, ...members } = event
  const known = { ...members, client_id: clientId, request_id: requestId }
  const present = Object.entries(known).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(present), id: event.id, at: new Date(at).toISOString(), details }
}

const name = Type.String({ minLength: 1, maxLength: 256 })
const changedMembers = Type.Optional(Type.Record(Type.String({ maxLength: 128 }), Type.Unknown()))

/** A change that another service is about to make: the members of `ManagementChange`. */
const NewEvent = Type.Object(
  {
    service: Type.Unsafe<ManagementChange['service']>({ type: 'string', enum: ['identity', 'notify', 'gateway'] }),
    action: name,
    actor: Type.Object(
      {
        subject: name,
        role: Type.Optional(name),
        client_id: Type.Optional(name),
        address: Type.Optional(name),
        request_id: Type.Optional(name),
      },
      { additionalProperties: false },
    ),
    target: Type.Object({ type: name, id: Type.String({ maxLength: 1024 }) }, { additionalProperties: false }),
    before: changedMembers,
    after: changedMembers,
  },
  { additionalProperties: false },
)

/**
 * Records the changes of services in other processes. Their service and actor are trusted: only services have the
 * scope.
 */
function recordingRoute(http: Http, { context, requireScope }: AdminAccess): void {
  const record = changeRecorder(context)
  const schema = { ...describeRoute('auditEvents.record', recordScope), body: NewEvent }
  http.post(path, { schema }, async (request, reply) => {
    await requireScope(request, recordScope)
    const { actor, ...change } = request.body
    const { client_id: clientId, request_id: requestId, ...rest } = actor
    await recordChange(record, { ...change, actor: { ...rest, clientId, requestId } })
    return reply.code(204).send()
  })
}
