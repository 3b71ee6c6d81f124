import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { CatalogKeeper } from '../catalog/catalog.ts'
import type { Audit } from '../context/audit.ts'
import type { Choices, UserChoices } from '../preferences/choices.ts'
import type { AccessControl } from '../request/caller.ts'
import { unknownEventProblem } from '../request/request-problem.ts'
import type { UserParams } from '../request/schemas.ts'
import type * as schemas from './schemas/choices.ts'

/** What the endpoints of choices need. */
export interface ChoiceContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly choices: Choices
  readonly catalog: CatalogKeeper
}

type UserRequest<Body = unknown> = FastifyRequest<{ Params: Static<typeof UserParams>; Body: Body }>
type ChoiceRequest<Body = unknown> = FastifyRequest<{ Params: Static<typeof schemas.ChoiceParams>; Body: Body }>

/** GET /v1/users/{id}/choices: what a user may choose by event type, as a preference panel shows it. */
export function getChoices(context: ChoiceContext) {
  return ({ params }: UserRequest) => readChoices(context, params.id)
}

/** PUT /v1/users/{id}/choices: subscribes to everything, or to critical notifications only. */
export function unsubscribe(context: ChoiceContext) {
  return async (request: UserRequest<Static<typeof schemas.Unsubscribe>>) => {
    const { params, body } = request
    context.access.refuseOldSignIn(request, params.id)
    await auditChoice(context, request, 'choices.unsubscribe', body)
    await context.choices.unsubscribeAll(params.id, body.unsubscribed, 'by the user')
    return readChoices(context, params.id)
  }
}

/** PUT /v1/users/{id}/choices/{event}: the channels of an event type. */
export function setChoice(context: ChoiceContext) {
  return async (request: ChoiceRequest<Static<typeof schemas.ChosenChannels>>) => {
    const { params, body } = request
    context.access.refuseOldSignIn(request, params.id)
    await refuseUnknownEvent(context, params.event)
    await auditChoice(context, request, 'choices.set', body)
    await context.choices.choose(params.id, params.event, body.channels)
    return readChoices(context, params.id)
  }
}

/** PATCH /v1/users/{id}/choices/{event}: turns single channels on and off; the others stay. */
export function updateChoice(context: ChoiceContext) {
  return async (request: ChoiceRequest<Static<typeof schemas.Switches>>) => {
    const { params } = request
    const { on = [], off = [] } = request.body
    const both = on.filter((channel) => off.includes(channel))
    if (both.length > 0) throw new Problem(422, `A channel can not be switched both on and off: ${both.join(', ')}.`)
    context.access.refuseOldSignIn(request, params.id)
    await refuseUnknownEvent(context, params.event)
    await auditChoice(context, request, 'choices.switch', { on, off })
    await context.choices.turn(params.id, params.event, { on, off })
    return readChoices(context, params.id)
  }
}

async function readChoices({ choices }: ChoiceContext, userId: string) {
  return formatChoices(await choices.of(userId))
}

async function refuseUnknownEvent({ catalog }: ChoiceContext, event: string): Promise<void> {
  const known = await catalog.current()
  if (!known.eventTypes.has(event)) throw unknownEventProblem(event, known, '/event')
}

async function auditChoice(
  { access, audit }: ChoiceContext,
  request: FastifyRequest<{ Params: { id: string; event?: string } }>,
  action: string,
  after: object,
): Promise<void> {
  const { id, event } = request.params
  if (!access.manages(request, id)) return
  const target = { type: 'user', id }
  await audit(request, { action, target, after: { ...(event === undefined ? {} : { event }), ...after } })
}

function formatChoices({ unsubscribed, choices }: UserChoices): Static<typeof schemas.Choices> {
  const types = choices.map(({ channels: offered, ...choice }) => ({ ...choice, channels: [...offered] }))
  return { unsubscribed, event_types: types }
}
