import type { Finding, Http, RecordChange, SetupStep, Worker } from '@gatehouse/kit'
import { createManagement, type Management } from './admin/commands.ts'
import { type ResolvedApiKey, resolveApiKey } from './admin/keys/api-keys.ts'
import { type GatewayState, type LimitFeed, readFeed, recordGateway } from './admin/limits/feed.ts'
import { readFindings, readSetup } from './admin/overview/overview.ts'
import { changeRecorder } from './audit/record.ts'
import { startWorkers } from './background/workers.ts'
import type { DeclaredLimits } from './config/limit-rules.ts'
import type { IdentityOptions } from './config/options.ts'
import { createContext } from './context/create.ts'
import { applyLimitsOfFile } from './declarations/limits.ts'
import { applyDeclarations, type Seeded } from './declarations/seed.ts'
import { type Introspected, introspect } from './introspect/endpoint.ts'
import type { PublicJwk } from './keys/signing-keys.ts'
import { type RevocationPage, readRevocations } from './revoke/feed.ts'
import { routes } from './routes.ts'

/** The token service, ready to be registered. */
export interface Identity {
  /** Every route, for `http.register`. */
  readonly plugin: (http: Http) => Promise<void>
  /** What the declarations created at this start, with generated secrets, this once. */
  readonly seeded: readonly Seeded[]
  /** Stop them at shutdown. */
  readonly workers: readonly Worker[]
  /**
   * No further mail and no further call of a client begins: what waits for one is released, for another process or the
   * next start. To be called as soon as the process is to stop; the stop of the workers waits for those under way.
   */
  stopSending(): void
  /** The public JWK Set. */
  keys(): { readonly keys: readonly PublicJwk[] }
  /** Whether a signing key was compromised: everything that it signed is rejected. */
  isCompromisedKey(kid: string): boolean
  /** The plan of a user or a client; undefined when there is neither. */
  planOf(subject: string): Promise<{ readonly plan: string } | undefined>
  /** The owner and scopes of an API key; undefined for one that is unknown, expired or deleted. */
  resolveApiKey(key: string): Promise<ResolvedApiKey | undefined>
  /** Introspects an access token (RFC 7662), for checks in this process. */
  introspect(token: string): Promise<Introspected>
  /** What was revoked after the cursor. @throws Problem 410 for a cursor ahead of the feed */
  revocations(after: string | undefined): Promise<RevocationPage>
  /** Records a change that another service of this process is about to make. */
  readonly recordChange: RecordChange
  /** Tiers, policies and overrides, for gateways in this process. */
  readonly limits: IdentityLimits
  /** Management for the command line. */
  readonly management: Management
  /** What an operator should look at. */
  findings(): Promise<readonly Finding[]>
  /** The steps of the setup of this service. `provided` are clients that do not count as the operator's own. */
  setup(provided: ReadonlySet<string>): Promise<readonly SetupStep[]>
  /** Rejects when the store does not answer. */
  ready(): Promise<void>
}

/** Tiers, policies and overrides as this process needs them. */
export interface IdentityLimits {
  /** Undefined when nothing changed since `etag`. */
  read(etag: string | undefined): Promise<LimitFeed | undefined>
  /** Says which version a process applies. */
  report(gateway: GatewayState): Promise<void>
  /** Applies what was edited in the file. */
  applyFile(file: DeclaredLimits): Promise<void>
}

/**
 * Creates the token service on a migrated store: reads or creates its keys and applies the declarations.
 * @throws StartError for an option out of bounds or an invalid declaration
 */
export async function createIdentity(options: IdentityOptions): Promise<Identity> {
  const outbox: Worker[] = []
  const context = createContext(options, () => {
    for (const worker of outbox) worker.resume()
  })
  await context.keys.refresh()
  // Without any, as on the command line, what the file declared is left as it is.
  const declares = options.declared !== undefined || options.serviceClient !== undefined
  const seeded = declares ? await applyDeclarations(context, options) : []
  await context.connections.refresh()
  if (context.limitRules !== undefined) await applyLimitsOfFile(context, context.limitRules, context.limitRules.file)
  const workers = options.background === false ? undefined : startWorkers(context, options)
  if (workers) outbox.push(workers.mails, workers.calls)
  return {
    plugin: (http) => routes(http, context, options.authenticate),
    seeded,
    workers: Object.values(workers ?? {}),
    stopSending() {
      // What goes wrong here is met again by the stop of all workers.
      for (const worker of outbox) worker.stop().catch(() => {})
    },
    keys: () => context.keys.getJwks(),
    isCompromisedKey: (kid) => context.keys.isCompromised(kid),
    async planOf(subject) {
      const found = await context.store.subjects.findPlan(subject)
      return found && { plan: found.plan ?? context.defaultPlan }
    },
    resolveApiKey: (key) => resolveApiKey(context, key),
    introspect: (token) => introspect(context, token),
    revocations: (after) => readRevocations(context, after),
    recordChange: changeRecorder(context),
    limits: {
      read: (etag) => readFeed(context, etag),
      report: (gateway) => recordGateway(context, gateway),
      async applyFile(file) {
        if (context.limitRules !== undefined) await applyLimitsOfFile(context, context.limitRules, file)
      },
    },
    management: createManagement(context),
    findings: () => readFindings(context),
    setup: (provided) => readSetup(context, provided),
    ready: () => context.store.ping(),
  }
}
