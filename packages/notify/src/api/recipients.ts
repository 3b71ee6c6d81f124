import { type Clock, type Http, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { RecipientRecord, RecipientSettings, recipientOf, recipientRecord } from '../config/declaration.ts'
import type { Audit } from '../context/audit.ts'
import { canonicalLocale } from '../model/locale.ts'
import { maskRecipient } from '../model/masking.ts'
import { isZone } from '../model/quiet-hours.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { Access } from '../request/scopes.ts'
import type { Recipient, Recipients } from '../store/store.ts'

const Params = Type.Object({ user_id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) })
const maxRecipients = 1_000

export interface RecipientRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Recipients
  readonly clock: Clock
}

type Settings = Static<typeof RecipientSettings>
type ManySettings = ReadonlyArray<Settings & { readonly user_id: string }>

/**
 * The management of recipients: whom we can reach, and where. A client that feeds what it knows of its users changes
 * them one by one, which is no change of the management's.
 */
export function recipientEndpoints(http: Http, routes: RecipientRoutes): void {
  const { access, store, clock } = routes
  const about = aboutFor(access)
  const shown = (request: FastifyRequest, recipient: Recipient) => {
    const record = recipientRecord(recipient)
    return access.masks(request, recipient.userId) ? maskRecipient(record) : record
  }
  const auditOne = auditWith(routes)

  http.get(
    '/v1/recipients/:user_id',
    {
      onRequest: access.allow('readDelivery'),
      schema: {
        ...about('recipients.get', 'readDelivery'),
        params: Params,
        response: { 200: RecipientRecord },
      },
    },
    async (request) => {
      const { user_id: userId } = request.params
      const found = await store.find(userId)
      if (!found) throw missing(userId)
      return shown(request, found)
    },
  )
  http.put(
    '/v1/recipients/:user_id',
    {
      onRequest: access.allow('putRecipient'),
      schema: {
        ...about('recipients.update', 'putRecipient'),
        params: Params,
        body: RecipientSettings,
        response: { 200: RecipientRecord },
      },
    },
    async (request) => {
      const settings = request.body as Settings
      refuseUnknownPlaces([settings])
      const recipient = recipientOf(request.params.user_id, settings)
      if (access.feeds(request)) await store.feed(recipient, clock.now())
      else {
        const before = await store.find(recipient.userId)
        await auditOne(request, 'recipients.update', { before, after: recipient })
        await store.put([recipient], clock.now())
      }
      return shown(request, recipient)
    },
  )
  http.delete(
    '/v1/recipients/:user_id',
    {
      onRequest: access.allow('putRecipient'),
      schema: {
        ...about('recipients.delete', 'putRecipient'),
        params: Params,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { user_id: userId } = request.params
      if (!access.feeds(request)) {
        const before = await store.find(userId)
        if (!before) throw missing(userId)
        await auditOne(request, 'recipients.delete', { before })
      }
      if (!(await store.remove(userId))) throw missing(userId)
      return reply.code(204).send(null)
    },
  )
  bulkEndpoint(http, routes)
  revealEndpoint(http, routes)
}

function aboutFor(access: AccessControl) {
  return (id: OperationId, required: Access = 'manage') => ({
    tags: ['recipients'],
    ...operation(id),
    security: access.security(required),
  })
}

function auditWith({ audit }: RecipientRoutes) {
  return (
    request: FastifyRequest<{ Params: Static<typeof Params> }>,
    action: string,
    { before, after }: { readonly before?: Recipient | undefined; readonly after?: Recipient },
  ) =>
    audit(request, {
      action,
      target: { type: 'recipient', id: request.params.user_id },
      ...(before ? { before: recipientRecord(before) } : {}),
      ...(after ? { after: recipientRecord(after) } : {}),
      mask: maskRecipient,
    })
}

/** PUT /v1/recipients: one event of the audit trail for all of them, with how many there are and the first ids. */
function bulkEndpoint(http: Http, { access, audit, store, clock }: RecipientRoutes): void {
  const Entry = Type.Object(
    { user_id: Params.properties.user_id, ...RecipientSettings.properties },
    { additionalProperties: false },
  )
  http.put(
    '/v1/recipients',
    {
      onRequest: access.allow('manage'),
      bodyLimit: 1024 * 1024,
      schema: {
        ...aboutFor(access)('recipients.updateMany'),
        body: Type.Object(
          { recipients: Type.Array(Entry, { maxItems: maxRecipients }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ stored: Type.Integer() }) },
      },
    },
    async (request) => {
      const { recipients } = request.body as { readonly recipients: ManySettings }
      refuseUnknownPlaces(recipients, '/recipients/')
      const after = { count: recipients.length, user_ids: recipients.map(({ user_id }) => user_id) }
      await audit(request, { action: 'recipients.import', target: { type: 'recipients', id: 'import' }, after })
      await store.put(
        recipients.map(({ user_id, ...settings }) => recipientOf(user_id, settings)),
        clock.now(),
      )
      return { stored: recipients.length }
    },
  )
}

const revealable = ['email', 'phone_number'] as const

const Revealed = Type.Object(
  { user_id: Type.String(), email: Type.Optional(Type.String()), phone_number: Type.Optional(Type.String()) },
  { title: 'RevealedRecipient' },
)

/** POST /v1/recipients/{user_id}/reveal: single addresses as they are, for a reason that is recorded first. */
function revealEndpoint(http: Http, { access, audit, store }: RecipientRoutes): void {
  http.post(
    '/v1/recipients/:user_id/reveal',
    {
      onRequest: access.allow('reveal'),
      schema: {
        ...aboutFor(access)('recipients.reveal', 'reveal'),
        params: Params,
        body: Type.Object(
          {
            fields: Type.Array(Type.Enum([...revealable]), { minItems: 1, uniqueItems: true }),
            reason: Type.String({ minLength: 3, maxLength: 500, examples: ['ticket 4711: mails do not arrive'] }),
          },
          { additionalProperties: false },
        ),
        response: { 200: Revealed },
      },
    },
    async (request) => {
      const { user_id: userId } = request.params
      const { fields, reason } = request.body
      const found = await store.find(userId)
      if (!found) throw missing(userId)
      const target = { type: 'recipient', id: userId }
      await audit(request, { action: 'recipients.reveal', target, after: { fields, reason } })
      const record = recipientRecord(found)
      const chosen = revealable.filter((field) => fields.includes(field) && record[field] !== undefined)
      return { user_id: userId, ...Object.fromEntries(chosen.map((field) => [field, record[field]])) }
    },
  )
}

function missing(userId: string): Problem {
  return new Problem(404, `There is no recipient ${userId}.`)
}

/** 400 for a locale that is no language tag and a zone that is none. */
function refuseUnknownPlaces(list: ReadonlyArray<Static<typeof RecipientSettings>>, prefix: string = ''): void {
  const faults = list.flatMap(({ locale, zoneinfo }, index) => {
    const at = prefix === '' ? '/' : `${prefix}${index}/`
    return [
      ...(locale === undefined || canonicalLocale(locale)
        ? []
        : [{ pointer: `${at}locale`, detail: 'must be a language tag such as en or pt-BR' }]),
      ...(zoneinfo === undefined || isZone(zoneinfo)
        ? []
        : [{ pointer: `${at}zoneinfo`, detail: 'must be a time zone such as Europe/Berlin' }]),
    ]
  })
  if (faults.length === 0) return
  const detail = faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; ')
  throw new Problem(400, `The body is not valid: ${detail}.`, { errors: faults })
}
