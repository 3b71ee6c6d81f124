import { type Clock, Problem } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import { channels as allChannels, type Channel } from '../model/channel.ts'
import type { Acceptance, Data, NotifyRequest } from '../model/notification/notification.ts'
import type { AccessControl } from '../request/caller.ts'
import type { Notifications, StoredNotification } from '../store/store.ts'
import type { CancelBody, ResendBody, TraceParams } from './schemas/notifications.ts'

/**
 * Accepts an event once more: committed when it resolves. Undefined where its data was erased meanwhile: then nothing is.
 *
 * @throws Problem where it is refused
 */
export type Resubmit = (request: NotifyRequest, resendOf: string) => Promise<Acceptance | undefined>

/** What acting on a notification needs. */
export interface ActionContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly catalog: Pick<CatalogKeeper, 'current'>
  readonly notifications: Notifications
  readonly resubmit: Resubmit
  readonly clock: Clock
}

type Acting<Body> = FastifyRequest<{ Params: Static<typeof TraceParams>; Body: Body }>

/**
 * POST /v1/notifications/{id}/cancel: what waits is not sent; what is being sent stays. Only the management, whose changes
 * are audited, cancels what another service sends under its reserved event types.
 */
export function cancelNotification(context: ActionContext) {
  return async (request: Acting<Static<typeof CancelBody>>) => {
    const { id } = request.params
    const channels = (request.body.channels ?? [...allChannels]) as Channel[]
    const { event } = await findVisible(context, request)
    if (!context.access.manages(request) && (await context.catalog.current()).isReserved(event))
      throw new Problem(403, `The event type ${event} is reserved: only the management cancels its messages.`)
    await auditAction(context, request, 'notifications.cancel', channels)
    const result = await context.notifications.cancel(id, channels, context.clock.now())
    if (!result) throw notFound(id)
    return { cancelled: [...result.cancelled], under_way: [...result.underWay] } as never
  }
}

/** POST /v1/notifications/{id}/resend: the event once more, on the channels named; caps and suppressions apply. */
export function resendNotification(context: ActionContext) {
  return async (request: Acting<Static<typeof ResendBody>>, reply: FastifyReply) => {
    const { id } = request.params
    const { dedup_key: key } = request.body
    const channels = request.body.channels as Channel[]
    const { event, userId, data } = requireData(await findVisible(context, request))
    await auditAction(context, request, 'notifications.resend', channels)
    const again = {
      event,
      user_id: userId,
      data,
      channels,
      ...(key === undefined ? {} : { dedup_key: `resend:${id}:${key}` }),
    }
    const acceptance = await context.resubmit(again, id)
    if (!acceptance) {
      await findVisible(context, request)
      throw dataErased(id)
    }
    await context.notifications.recordResent(id, acceptance.id, channels, context.clock.now())
    return reply.code(202).send(acceptance as never)
  }
}

/** What can be sent again. @throws Problem 409 when its data was erased */
function requireData(found: StoredNotification): StoredNotification & { readonly data: Data } {
  const { id, data } = found
  if (data === undefined) throw dataErased(id)
  return { ...found, data }
}

async function findVisible(
  { access, notifications }: ActionContext,
  request: Acting<unknown>,
): Promise<StoredNotification> {
  const { id } = request.params
  const found = await notifications.findStored(id)
  if (!found || !access.canSee(request, found.userId, 'actOnNotification')) throw notFound(id)
  return found
}

async function auditAction(
  { access, audit }: ActionContext,
  request: Acting<unknown>,
  action: string,
  channels: readonly Channel[],
): Promise<void> {
  if (!access.manages(request)) return
  await audit(request, { action, target: { type: 'notification', id: request.params.id }, after: { channels } })
}

function dataErased(id: string): Problem {
  return new Problem(409, `The data of the notification ${id} was erased: it can't be sent again.`)
}

function notFound(id: string): Problem {
  return new Problem(404, `There is no notification ${id}.`)
}
