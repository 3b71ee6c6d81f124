import { entityTagOf, Problem, preconditionFailed, requireMatch } from '@gatehouse/kit'
import { attemptLimitPolicies } from '../../config/attempt-limits.ts'
import type { LimitFault, LimitRules } from '../../config/limit-rules.ts'
import type { AdminContext } from '../../context/features.ts'
import {
  findLimitFault,
  type LimitDeclaration,
  type LimitDocument,
  type LimitKind,
  type LimitVersion,
  listDifferences,
  maxLimitDeclarations,
  withDeclaration,
} from '../../model/limit-settings.ts'
import type { NewLimitVersion } from '../../store/index.ts'
import { type Authority, auditChange } from '../authority.ts'

/** What these operations work on. */
export interface LimitContext {
  readonly context: AdminContext
  readonly rules: LimitRules
}

/** One tier or policy. */
export interface LimitName {
  readonly kind: LimitKind
  readonly name: string
}

/** The active version; before the first one, the limits of the file as version 0. */
export async function readActive({ context, rules }: LimitContext): Promise<LimitVersion> {
  const current = await context.store.limitVersions.current()
  return current ?? { version: 0, document: rules.file.document, origin: 'file', comment: '', createdAt: 0 }
}

/** The active version as management returns it. */
export async function readSettings(limits: LimitContext) {
  const active = await readActive(limits)
  const { document } = limits.rules.file
  return {
    ...formatVersion(active),
    ...active.document,
    file: document,
    drift: listDifferences(document, active.document),
  }
}

/** A version without its document. */
export function formatVersion({ version, origin, author, comment, restored, createdAt }: LimitVersion) {
  return {
    version,
    origin,
    ...(author === undefined ? {} : { author }),
    comment,
    ...(restored === undefined ? {} : { restored }),
    ...(createdAt === 0 ? {} : { created_at: new Date(createdAt).toISOString() }),
  }
}

/** One tier or policy: what is declared, and what the file declares. @throws Problem 404 for a name in neither */
export async function readDeclaration(limits: LimitContext, { kind, name }: LimitName) {
  const { version, document } = await readActive(limits)
  const declaration = own(document[kind], name)
  const file = own(limits.rules.file.document[kind], name)
  if (declaration === undefined && file === undefined) throw notFound({ kind, name }, document)
  return {
    name,
    version,
    ...(declaration === undefined ? {} : { declaration }),
    ...(file === undefined ? {} : { file }),
    etag: tagOf(declaration),
  }
}

/** A change of one tier or policy. */
export interface LimitChange {
  /** Undefined deletes it. */
  readonly declaration: LimitDeclaration | undefined
  readonly comment?: string | undefined
  /** The header If-Match: it is changed only if it is as it was read. */
  readonly ifMatch?: string | undefined
}

const maxAttempts = 5

/**
 * Appends a version with another declaration, or without one. Whoever edits another name meanwhile loses nothing: the
 * change is then made to the newer version.
 * @throws Problem 404, 412, 422, 503
 */
export async function changeDeclaration(
  limits: LimitContext,
  by: Authority,
  at: LimitName,
  { declaration, comment = '', ifMatch }: LimitChange,
): Promise<LimitVersion> {
  const { context } = limits
  let isRecorded = false
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const active = await readActive(limits)
    const before = own(active.document[at.kind], at.name)
    requireMatch(ifMatch, before && tagOf(before))
    if (declaration === undefined && before === undefined) throw notFound(at, active.document)
    const document = withDeclaration(active.document, at.kind, at.name, declaration)
    requireOwnerForAttemptLimits(by, active.document, document)
    requireValid(limits, document, at)
    const version: NewLimitVersion = {
      document,
      origin: 'edit',
      author: by.actor.subject,
      comment,
      createdAt: context.clock.now(),
    }
    const action = declaration === undefined ? 'limit_settings.delete' : 'limit_settings.put'
    const target = { type: 'limit', id: `${at.kind}/${at.name}` }
    const members = { ...(before ? { before } : {}), ...(declaration ? { after: declaration } : {}) }
    if (!isRecorded) await auditChange(context, by, { action, target, ...members })
    isRecorded = true
    if (await context.store.limitVersions.append(active.version, version))
      return { ...version, version: active.version + 1 }
  }
  throw new Problem(409, 'The limits were edited at the same time; read them again and retry.')
}

/**
 * Makes an earlier version active again, as a new version: what was active stays in the list.
 * @throws Problem 404, 412, 422, 503
 */
export async function activateVersion(
  limits: LimitContext,
  by: Authority,
  version: number,
  { comment = '', ifMatch }: Pick<LimitChange, 'comment' | 'ifMatch'>,
): Promise<LimitVersion> {
  const { context } = limits
  const active = await readActive(limits)
  requireMatch(ifMatch, versionTag(active.version))
  const { document } = await findVersion(limits, version)
  requireOwnerForAttemptLimits(by, active.document, document)
  requireValid(limits, document)
  const next: NewLimitVersion = {
    document,
    origin: 'rollback',
    author: by.actor.subject,
    comment,
    restored: version,
    createdAt: context.clock.now(),
  }
  const target = { type: 'limit_version', id: String(version) }
  const [before, after] = [{ version: active.version }, { version: active.version + 1, restored: version }]
  await auditChange(context, by, { action: 'limit_settings.activate', target, before, after })
  if (!(await context.store.limitVersions.append(active.version, next)))
    throw preconditionFailed(versionTag((await readActive(limits)).version))
  return { ...next, version: active.version + 1 }
}

/**
 * Limits that stop guessing protect owners from everybody else, operators too.
 * @throws Problem 403 when one of them would change, and the caller is no owner
 */
function requireOwnerForAttemptLimits(
  { scopes, unrestricted }: Authority,
  before: LimitDocument,
  after: LimitDocument,
): void {
  if (unrestricted || scopes.has('admin:roles')) return
  const changed = Object.keys(attemptLimitPolicies).filter(
    (name) => tagOf(own(before.policies, name)) !== tagOf(own(after.policies, name)),
  )
  if (changed.length > 0)
    throw new Problem(403, `Limits on attempts are changed by owners alone (scope admin:roles): ${changed.join(', ')}.`)
}

/** What is wrong with the change of a declaration. */
export interface ChangeFault {
  /** What is not allowed, and what was expected. */
  readonly fault: string
  /** The member of the declaration that is at fault, and what is expected of it. */
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

/** What a change would do: what is wrong with it, or undefined. */
export async function checkDeclaration(
  limits: LimitContext,
  { kind, name }: LimitName,
  declaration: LimitDeclaration | undefined,
): Promise<ChangeFault | undefined> {
  const { document } = await readActive(limits)
  const fault = faultOf(limits, withDeclaration(document, kind, name, declaration))
  if (fault === undefined) return undefined
  const place = placeOf(fault, { kind, name })
  if (place === undefined) return { fault: fault.detail }
  return { fault: fault.detail, errors: [{ pointer: `/declaration${place.pointer}`, detail: place.expected }] }
}

/** @throws Problem 404 */
export async function findVersion({ context }: LimitContext, version: number): Promise<LimitVersion> {
  const found = await context.store.limitVersions.find(version)
  if (found === undefined) throw new Problem(404, `There is no version ${version} of the limits.`)
  return found
}

/** @throws Problem 422 that names the tiers and policies that there are */
export async function requireLimit(limits: LimitContext, name: string): Promise<void> {
  const fault = findLimitFault((await readActive(limits)).document, name)
  if (fault !== undefined)
    throw new Problem(422, `/policy ${fault}.`, { errors: [{ pointer: '/policy', detail: fault }] })
}

/** The entity tag of the settings as a whole. */
export const versionTag = (version: number) => `"${version}"`

const tagOf = (declaration: LimitDeclaration | undefined) => entityTagOf(declaration ?? null)

const own = (named: Readonly<Record<string, LimitDeclaration>>, name: string) =>
  Object.hasOwn(named, name) ? named[name] : undefined

function notFound({ kind, name }: LimitName, document: LimitDocument): Problem {
  const word = kind === 'tiers' ? 'tier' : 'policy'
  return new Problem(404, `There is no ${word} "${name}"; there are ${Object.keys(document[kind]).join(', ')}.`)
}

/** The place of a fault in the declaration that was edited. */
function placeOf({ place }: LimitFault, { kind, name }: LimitName): LimitFault['place'] {
  return place?.kind === kind && place.name === name && place.pointer !== '' ? place : undefined
}

function faultOf({ rules }: LimitContext, document: LimitDocument): LimitFault | undefined {
  const count = Object.keys(document.tiers).length + Object.keys(document.policies).length
  if (count > maxLimitDeclarations) return { detail: `there are at most ${maxLimitDeclarations} tiers and policies` }
  return rules.check(document)
}

function requireValid(limits: LimitContext, document: LimitDocument, edited?: LimitName): void {
  const fault = faultOf(limits, document)
  if (fault === undefined) return
  const place = edited && placeOf(fault, edited)
  const pointer = `/declaration${place?.pointer ?? ''}`
  throw new Problem(422, `${fault.detail}.`, { errors: [{ pointer, detail: place?.expected ?? fault.detail }] })
}
