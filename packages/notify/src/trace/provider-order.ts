import { entityTagOf, type IfMatchHeaders, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { inChosenOrder } from '../model/delivery/provider-order.ts'
import type { ProvidersContext } from './providers.ts'
import type { OrderBody, OrderQuery } from './schemas/providers.ts'

/** GET /v1/providers/order: the providers of a channel, the preferred first. */
export function getProviderOrder(context: ProvidersContext) {
  return async (request: FastifyRequest<{ Querystring: Static<typeof OrderQuery> }>, reply: FastifyReply) => {
    const { order } = await readOrder(context, request.query.channel)
    return reply.header('etag', entityTagOf(order)).send(order)
  }
}

/** PUT /v1/providers/order: which of a channel's providers are called first, by every process within seconds. */
export function updateProviderOrder(context: ProvidersContext) {
  const { audit, orders, clock } = context
  return async (
    request: FastifyRequest<{ Body: Static<typeof OrderBody>; Headers: Static<typeof IfMatchHeaders> }>,
    reply: FastifyReply,
  ) => {
    const { channel, providers } = request.body
    const { stored, order } = await readOrder(context, channel)
    refuseOthers(providers, order.providers)
    const ifMatch = request.headers['if-match']
    requireMatch(ifMatch, entityTagOf(order))
    await audit(request, {
      action: 'providers.order',
      target: { type: 'channel', id: channel },
      before: { providers: order.providers },
      after: { providers },
    })
    const expected = ifMatch === undefined ? undefined : (stored ?? null)
    if (!(await orders.put(channel, providers, clock.now(), expected)))
      throw preconditionFailed(entityTagOf((await readOrder(context, channel)).order))
    const after = { channel, providers }
    return reply.header('etag', entityTagOf(after)).send(after)
  }
}

async function readOrder({ providers, orders }: ProvidersContext, channel: string) {
  const stored = (await orders.list()).get(channel)
  const mine = providers.filter((each) => each.channel === channel)
  return { stored, order: { channel, providers: inChosenOrder(mine, stored).map(({ name }) => name) } }
}

/** @throws Problem 422 unless it names every provider of the channel once */
function refuseOthers(names: readonly string[], known: readonly string[]): void {
  if (names.length === known.length && known.every((name) => names.includes(name))) return
  const detail = `must name each provider of the channel once: ${known.join(', ') || 'there is none'}`
  throw new Problem(422, `/providers ${detail}.`, { errors: [{ pointer: '/providers', detail }] })
}
