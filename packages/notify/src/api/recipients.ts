import {
  type Clock,
  canonicalLocale,
  createPage,
  defaultPageSize,
  entityTagOf,
  isZone,
  Problem,
  preconditionFailed,
  requireMatch,
} from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type RecipientSettings, recipientOf, recipientRecord } from '../catalog/declaration.ts'
import type { Audit } from '../context/audit.ts'
import { maskRecipient } from '../model/masking.ts'
import type { AccessControl } from '../request/caller.ts'
import type { SearchSlots } from '../request/search-slots.ts'
import { changedMeanwhile, refuseTags } from '../request/withheld-tags.ts'
import type { Recipient, Recipients } from '../store/store.ts'
import {
  type RecipientList,
  type RecipientParams,
  type RecipientQuery,
  type RevealRequest,
  revealable,
} from './schemas/recipients.ts'

/** What the endpoints of recipients need. */
export interface RecipientContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Recipients
  readonly slots: SearchSlots
  readonly clock: Clock
}

type Settings = Static<typeof RecipientSettings>
type RecipientRequest<Body = unknown> = FastifyRequest<{ Params: Static<typeof RecipientParams>; Body: Body }>

/** GET /v1/recipients/{user_id} */
export function getRecipient({ access, store }: RecipientContext) {
  return async (request: RecipientRequest, reply: FastifyReply) => {
    const { user_id: userId } = request.params
    const found = await store.find(userId)
    if (!found) throw notFound(userId)
    return send(access, request, reply, found)
  }
}

/** PUT /v1/recipients/{user_id}: by the management, or by a client that feeds what it knows of its users. */
export function updateRecipient(context: RecipientContext) {
  const { access, store, clock } = context
  return async (request: RecipientRequest<Settings>, reply: FastifyReply) => {
    refuseUnknownPlaces([request.body])
    const recipient = recipientOf(request.params.user_id, request.body)
    const ifMatch = request.headers['if-match']
    if (!access.feeds(request)) await putEdited(context, request, recipient)
    else if (ifMatch === undefined) await store.feed(recipient, clock.now())
    else throw new Problem(400, 'What a service knows of its users is merged: it is sent without If-Match.')
    return send(access, request, reply, recipient)
  }
}

/** An edit of the management, which takes nobody else's back where it names what it read. */
async function putEdited(context: RecipientContext, request: RecipientRequest, after: Recipient): Promise<void> {
  const { access, store, clock } = context
  const ifMatch = request.headers['if-match']
  const before = await store.find(after.userId)
  const masked = access.masks(request, after.userId)
  if (masked) refuseTags(ifMatch)
  requireMatch(ifMatch, before && tagOf(before))
  await auditRecipient(context, request, 'recipients.update', { before, after })
  if (ifMatch === undefined || before === undefined) await store.put([after], clock.now())
  else if (!(await store.replace(after, before, clock.now()))) throw refusalOf(await store.find(after.userId), masked)
}

/** The problem of an edit that met another; for who sees the recipient masked without its tag. */
function refusalOf(current: Recipient | undefined, masked: boolean): Problem {
  return current && masked ? changedMeanwhile() : preconditionFailed(current && tagOf(current))
}

const tagOf = (recipient: Recipient) => entityTagOf(recipientRecord(recipient))

/** With its entity tag, but for who sees it masked: by the tag an address could be guessed. */
function send(access: AccessControl, request: RecipientRequest, reply: FastifyReply, recipient: Recipient) {
  if (!access.masks(request, recipient.userId)) reply.header('etag', tagOf(recipient))
  return formatForCaller(access, request, recipient)
}

/** DELETE /v1/recipients/{user_id} */
export function deleteRecipient(context: RecipientContext) {
  const { access, store } = context
  return async (request: RecipientRequest, reply: FastifyReply) => {
    const { user_id: userId } = request.params
    if (!access.feeds(request)) {
      const before = await store.find(userId)
      if (!before) throw notFound(userId)
      await auditRecipient(context, request, 'recipients.delete', { before })
    }
    if (!(await store.remove(userId))) throw notFound(userId)
    return reply.code(204).send(null)
  }
}

/** PUT /v1/recipients: one event of the audit trail for all of them, with their number and the first ids. */
export function updateRecipients({ audit, store, clock }: RecipientContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof RecipientList> }>) => {
    const { recipients } = request.body
    refuseUnknownPlaces(recipients, '/recipients/')
    const after = { count: recipients.length, user_ids: recipients.map(({ user_id }) => user_id) }
    await audit(request, { action: 'recipients.import', target: { type: 'recipients', id: 'import' }, after })
    await store.put(
      recipients.map(({ user_id, ...settings }) => recipientOf(user_id, settings)),
      clock.now(),
    )
    return { stored: recipients.length }
  }
}

/** POST /v1/recipients/search: by address, number or the beginning of an id; in the body, which no log has. */
export function searchRecipients({ access, slots, store }: RecipientContext) {
  return async (request: FastifyRequest<{ Body: Static<typeof RecipientQuery> }>) => {
    const { email, phone_number: phone, q: prefix, cursor = '', limit = defaultPageSize } = request.body
    const phoneNumber = phone?.replaceAll(/[\s()./-]/g, '').replace(/^00/, '+')
    const search = { prefix, email: email?.trim().toLowerCase(), phoneNumber }
    const found = await slots.run(() => store.search(search, cursor, limit))
    const items = found.map((recipient) => formatForCaller(access, request, recipient))
    return createPage(items, request.body, ({ user_id: id }) => id)
  }
}

/** POST /v1/recipients/{user_id}/reveal: single addresses in clear, for a reason that is recorded first. */
export function revealRecipient({ audit, store }: RecipientContext) {
  return async (request: RecipientRequest<Static<typeof RevealRequest>>) => {
    const { user_id: userId } = request.params
    const { fields, reason } = request.body
    const found = await store.find(userId)
    if (!found) throw notFound(userId)
    const target = { type: 'recipient', id: userId }
    await audit(request, { action: 'recipients.reveal', target, after: { fields, reason } })
    const record = recipientRecord(found)
    const revealed = revealable.filter((field) => fields.includes(field) && record[field] !== undefined)
    return { user_id: userId, ...Object.fromEntries(revealed.map((field) => [field, record[field]])) }
  }
}

function formatForCaller(access: AccessControl, request: FastifyRequest, recipient: Recipient) {
  const record = recipientRecord(recipient)
  return access.masks(request, recipient.userId) ? maskRecipient(record) : record
}

function auditRecipient(
  { audit }: RecipientContext,
  request: RecipientRequest,
  action: string,
  { before, after }: { readonly before?: Recipient | undefined; readonly after?: Recipient },
): Promise<void> {
  return audit(request, {
    action,
    target: { type: 'recipient', id: request.params.user_id },
    ...(before ? { before: recipientRecord(before) } : {}),
    ...(after ? { after: recipientRecord(after) } : {}),
    mask: maskRecipient,
  })
}

function notFound(userId: string): Problem {
  return new Problem(404, `There is no recipient ${userId}.`)
}

/** @throws Problem 400 for locales that are no language tags and zones that do not exist, all of them at once */
function refuseUnknownPlaces(list: readonly Settings[], prefix: string = ''): void {
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
