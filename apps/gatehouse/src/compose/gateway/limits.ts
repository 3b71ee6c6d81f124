import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import {
  completeLimits,
  declarationOf,
  followLimits,
  type Gateway,
  type IdentityClient,
  type LimitFollower,
  type LimitSource,
  type LimitsDocument,
  limitsFor,
  PolicyDeclaration,
  routeRuleOf,
  TierDeclaration,
} from '@gatehouse/gateway'
import {
  attemptLimitPolicies,
  type DeclaredLimits,
  type Identity,
  type LimitFault,
  type LimitRules,
} from '@gatehouse/identity'
import { DeclarationError } from '@gatehouse/limiter'
import type { TSchema } from 'typebox'
import type { Config } from '../../config/config.ts'
import type { Parts } from '../parts.ts'
import { type Counters, refuseUnshared } from './counters.ts'

type File = Config['file']

/** The limits of a file as the gateway takes them. */
export function declaredLimits({ tiers, policies, global_policy: globalPolicy }: File) {
  return {
    ...(tiers ? { tiers } : {}),
    ...(policies ? { policies } : {}),
    ...(globalPolicy === undefined ? {} : { globalPolicy }),
  }
}

/** The limits of a file as identity stores them. */
export function limitsOfFile({ file, path }: Pick<Config, 'file' | 'path'>): DeclaredLimits {
  const declared = declaredLimits(file)
  const isDeclared = Object.keys(declared).length > 0
  return { document: completeLimits(declared), isDeclared, isMissing: path === undefined }
}

/** What identity needs to know of limits: it stores what these gateways would apply with the routes of this file. */
export function limitRules(config: Pick<Config, 'file' | 'path'>, counters: Counters): LimitRules {
  const rules = (config.file.routes ?? []).map(routeRuleOf)
  return {
    tier: withoutDefaults(TierDeclaration),
    policy: withoutDefaults(PolicyDeclaration),
    file: limitsOfFile(config),
    lowest: (document) => limitsFor(declarationOf(document as LimitsDocument), []).lowest,
    check(document) {
      try {
        const declaration = declarationOf(document as LimitsDocument)
        refuseUnshared(counters, declaration)
        limitsFor({ attemptLimits: attemptLimitPolicies, ...declaration }, rules)
        return undefined
      } catch (error) {
        if (error instanceof RangeError) return faultOf(error)
        throw error
      }
    },
  }
}

function faultOf(error: RangeError): LimitFault {
  if (!(error instanceof DeclarationError)) return { detail: error.message }
  const { isTier, name, pointer, expected } = error.place
  return { detail: error.message, place: { kind: isTier ? 'tiers' : 'policies', name, pointer, expected } }
}

/** A declaration is stored as it was sent: what it leaves out stays what the built-in policy of the name has. */
function withoutDefaults(schema: TSchema): TSchema {
  return JSON.parse(JSON.stringify(schema, (name, value: unknown) => (name === 'default' ? undefined : value)))
}

/** @throws RangeError when the limits of an edited file could not apply with the routes of this process */
export function requireLimits(started: Config, counters: Counters, next: Config): void {
  const fault = limitRules(started, counters).check(limitsOfFile(next).document)
  if (fault !== undefined) throw new RangeError(fault.detail)
}

/** Where the limits of a process are read. */
export interface LimitsOrigin {
  /** The identity of this process, once it is built. */
  readonly identityHere: () => Identity | undefined
  /** Of another process; undefined without a service client. */
  readonly elsewhere: IdentityClient | undefined
}

/**
 * Follows the limits that identity stores, here or elsewhere; where there is none of ours, the file applies. A version
 * that this process cannot apply, as where its routes name a policy that is gone, changes nothing.
 */
export function followStoredLimits(
  { config, log }: Pick<Parts, 'config' | 'log'>,
  gateway: Gateway,
  counters: Counters,
  origin: LimitsOrigin,
): LimitFollower | undefined {
  const source = limitSource(config, origin)
  return (
    source &&
    followLimits({
      source,
      log,
      apply(document) {
        const declaration = declarationOf(document)
        refuseUnshared(counters, declaration)
        gateway.reload(declaration)
      },
      setOverrides: gateway.setOverrides,
      setClientPolicies: gateway.setClientPolicies,
    })
  )
}

function limitSource({ settings }: Config, { identityHere, elsewhere }: LimitsOrigin): LimitSource | undefined {
  const process = { id: randomUUID(), host: hostname(), services: [...settings.services] }
  if (!settings.services.has('identity')) return elsewhere?.limitSource(process)
  return {
    read: async (etag) => identityHere()?.limits.read(etag),
    report: async (report) => identityHere()?.limits.report({ ...process, fault: undefined, ...report }),
  }
}
