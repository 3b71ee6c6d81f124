import { instantOf, maskEmail, maskIpAddress, maskPhoneNumber, Problem } from '@gatehouse/kit'
import type { Static } from 'typebox'
import { type LimitOverride, maxLimitOverrides } from '../../model/limit-settings.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { OverrideBody, overrideSchema } from './schemas.ts'
import { type LimitContext, requireLimit } from './settings.ts'

/** An override as management returns it. */
export type OverrideResponse = Static<typeof overrideSchema>

/** Who is limited. */
export interface LimitedCaller {
  readonly kind: string
  readonly id: string
}

/** Every override that has not ended. */
export async function listOverrides({ context }: LimitContext): Promise<OverrideResponse[]> {
  return (await context.store.limitOverrides.list(context.clock.now())).map(formatOverride)
}

/**
 * What overrides are ordered by in pages: when each was set, and its place among those of that instant. A cursor is shown
 * to callers whose ids are masked, so it has neither an id nor a digest of one.
 */
export function pageKeys(overrides: readonly OverrideResponse[]): ReadonlyMap<OverrideResponse, string> {
  const byInstant = Map.groupBy(overrides, ({ created_at }) => created_at)
  const keyed = [...byInstant].flatMap(([at, some]) =>
    some.map((override, index) => [override, `${at} ${String(index).padStart(4, '0')}`] as const),
  )
  return new Map(keyed)
}

/** @throws Problem 404 */
export async function readOverride({ context }: LimitContext, { kind, id }: LimitedCaller): Promise<OverrideResponse> {
  const found = await context.store.limitOverrides.find(kind, id, context.clock.now())
  if (found === undefined) throw notFound()
  return formatOverride(found)
}

const maxDays = 366

/** Sets the limit of one caller until a time; an earlier one ends. @throws Problem 409, 422, 503 */
export async function putOverride(
  limits: LimitContext,
  by: Authority,
  { kind, id }: LimitedCaller,
  { policy, factor, until, reason }: Static<typeof OverrideBody>,
): Promise<OverrideResponse> {
  const { context } = limits
  const { limitOverrides } = context.store
  const now = context.clock.now()
  const end = instantOf(until)
  if ((policy === undefined) === (factor === undefined))
    throw fault('/factor', 'exactly one of policy and factor is required')
  if (end <= now || end > now + maxDays * 86_400_000)
    throw fault('/until', `must be in the future, at most ${maxDays} days from now`)
  if (policy !== undefined) await requireLimit(limits, policy)
  const override = { kind, id, policy, factor, reason, author: by.actor.subject, createdAt: now, until: end }
  const before = await limitOverrides.find(kind, id, now)
  await auditChange(context, by, {
    action: 'limit_overrides.put',
    target: targetOf({ kind, id }),
    ...(before ? { before: auditedMembers(before) } : {}),
    after: auditedMembers(override),
  })
  if (!(await limitOverrides.put(override, now)))
    throw new Problem(409, `There are ${maxLimitOverrides} overrides; end some first.`)
  return formatOverride(override)
}

/** Ends an override. @throws Problem 404, 503 */
export async function removeOverride({ context }: LimitContext, by: Authority, caller: LimitedCaller): Promise<void> {
  const now = context.clock.now()
  const before = await context.store.limitOverrides.find(caller.kind, caller.id, now)
  if (before === undefined) throw notFound()
  const target = targetOf(caller)
  await auditChange(context, by, { action: 'limit_overrides.delete', target, before: auditedMembers(before) })
  await context.store.limitOverrides.remove(caller.kind, caller.id, now)
}

/** Masks an identifier that is personal data: an address, a mail address, a telephone number. */
export function maskOverride(override: OverrideResponse): OverrideResponse {
  return { ...override, id: maskId(override) }
}

function maskId({ kind, id }: LimitedCaller): string {
  if (kind === 'ip') return maskIpAddress(id.replace(/\/\d+$/, ''))
  if (/^\+\d{8,15}$/.test(id)) return maskPhoneNumber(id)
  return id.includes('@') ? maskEmail(id) : id
}

function fault(pointer: string, detail: string): Problem {
  return new Problem(422, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}

const notFound = () => new Problem(404, 'This caller has no override.')

const targetOf = (caller: LimitedCaller) => ({ type: 'limit_override', id: `${caller.kind}/${maskId(caller)}` })

function auditedMembers({ policy, factor, until, reason }: LimitOverride): Record<string, unknown> {
  const changed = { policy, factor, until: new Date(until).toISOString(), reason }
  return Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined))
}

function formatOverride({ createdAt, until, policy, factor, author, ...rest }: LimitOverride): OverrideResponse {
  return {
    ...rest,
    ...(policy === undefined ? {} : { policy }),
    ...(factor === undefined ? {} : { factor }),
    ...(author === undefined ? {} : { author }),
    until: new Date(until).toISOString(),
    created_at: new Date(createdAt).toISOString(),
  }
}
