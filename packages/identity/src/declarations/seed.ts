import {
  type Clock,
  emailAddressExpected,
  isEmailAddress,
  type KeyRing,
  type Log,
  randomToken,
  Secret,
  StartError,
  tokenHash,
} from '@gatehouse/kit'
import { createLogoMessage } from '../clients/logo/fetch.ts'
import { findDeclaredClientFaults, parseMetadata } from '../clients/registration.ts'
import type { ConnectionDeclaration } from '../config/connections.ts'
import type { ClientDeclaration, UserDeclaration } from '../config/declarations.ts'
import type { Features } from '../config/features.ts'
import type { LimitRules } from '../config/limit-rules.ts'
import type { IdentityOptions } from '../config/options.ts'
import { findConnectionFaults } from '../connections/faults.ts'
import { sealSecrets, splitSecrets } from '../connections/secrets.ts'
import { MacKey } from '../keys/mac-key.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { isPublic } from '../model/client.ts'
import { findLimitFault, maxClientPolicies, unlimitedPlan } from '../model/limit-settings.ts'
import { checkUserRole } from '../model/management-roles.ts'
import { serviceScopes } from '../model/service-scopes.ts'
import { normalizeName } from '../model/user.ts'
import type { PasswordHasher } from '../passwords/hasher.ts'
import type { PasswordPolicy } from '../passwords/rule.ts'
import { signOutOptions } from '../sessions/end-session.ts'
import {
  type DeclarationEntry,
  type IdentityStore,
  NameConflict,
  type NewClient,
  type NewConnection,
  type NewUser,
  OrganizationConflict,
  type WriteResult,
} from '../store/index.ts'
import { applyOrganizations, requireNoOrganizationFaults } from './organizations.ts'

/** A client or user that the declarations created at this start; with its secret when that was generated. */
export type Seeded =
  | { readonly kind: 'client'; readonly id: string; readonly secret?: Secret; readonly declaration: ClientDeclaration }
  | {
      readonly kind: 'user'
      readonly id: string
      readonly username: string
      readonly roles: readonly string[]
      readonly secret?: Secret
    }

interface SeedContext {
  readonly store: Pick<IdentityStore, 'declarations'>
  readonly passwords: PasswordHasher
  readonly passwordPolicy: PasswordPolicy
  readonly clock: Clock
  readonly log: Log
  readonly defaultPlan: string
  readonly encryptionKey: KeyRing
  readonly features: Pick<Features, 'loopbackCalls'>
  readonly builtInClients: ReadonlySet<string>
  readonly limitRules: LimitRules | undefined
}

/**
 * Applies the declarations of the configuration and returns what it created. An unchanged entry does not overwrite
 * later edits.
 * @throws StartError naming every invalid declaration
 */
export async function applyDeclarations(
  context: SeedContext,
  {
    declared,
    serviceClient,
    furtherSecrets = {},
  }: Pick<IdentityOptions, 'declared' | 'serviceClient' | 'furtherSecrets'>,
): Promise<Seeded[]> {
  const secrets = new Map<string, Secret>()
  const clients = [...(declared?.clients ?? []), ...(serviceClient ? [serviceClientDeclaration(serviceClient)] : [])]
  const users = declared?.users ?? []
  const connections = declared?.connections ?? []
  requireNoFaults(context.passwordPolicy, clients, users)
  requireNoPolicyFaults(clients, context.limitRules)
  requireNoConnectionFaults(connections, context.features.loopbackCalls)
  requireNoOrganizationFaults(declared ?? {})
  const now = context.clock.now()
  try {
    const writtenClients = await context.store.declarations.applyClients(
      clients.map((client) =>
        clientEntry({ context, client, further: furtherSecrets[client.client_id] ?? [], secrets }),
      ),
      now,
    )
    const writtenUsers = await context.store.declarations.applyUsers(
      users.map((user) => userEntry(context, user, secrets)),
      (userId) => createRecipientMessage(context, userId),
      () => signOutOptions(context),
    )
    const waiting = await applyOrganizations(context, declared ?? {})
    await context.store.declarations.applyConnections(
      connections
        .filter(({ organization }) => organization === undefined || !waiting.has(organization))
        .map((connection) => connectionEntry(context, connection)),
      now,
    )
    const isCreated = (written: Map<string, WriteResult>, id: string) => written.get(id) === 'created'
    return [
      ...clients
        .filter(({ client_id: id }) => isCreated(writtenClients, id) && id !== serviceClient?.id)
        .map(seededClient),
      ...users.filter(({ id }) => isCreated(writtenUsers, id)).map(seededUser),
    ].map((one) => ({ ...one, ...generatedSecret(secrets, one.id) }))
  } catch (error) {
    if (error instanceof NameConflict || error instanceof OrganizationConflict)
      throw new StartError(`a declaration is invalid: ${error.message}`)
    throw error
  }
}

function seededClient(declaration: ClientDeclaration): Seeded {
  return { kind: 'client', id: declaration.client_id, declaration }
}

function seededUser({ id, username = id, roles = [] }: UserDeclaration): Seeded {
  return { kind: 'user', id, username, roles }
}

function generatedSecret(secrets: ReadonlyMap<string, Secret>, id: string): { secret?: Secret } {
  const secret = secrets.get(id)
  return secret === undefined ? {} : { secret }
}

function serviceClientDeclaration(serviceClient: { id: string; secret: Secret }): ClientDeclaration {
  return {
    client_id: serviceClient.id,
    client_name: 'Gatehouse services',
    client_secret: serviceClient.secret.reveal(),
    grant_types: ['client_credentials'],
    scopes: [...serviceScopes],
    may_introspect: true,
    plan: unlimitedPlan,
  }
}

interface ClientEntryOptions {
  readonly context: SeedContext
  readonly client: ClientDeclaration
  /** Secrets that are valid beside the declared one. */
  readonly further: readonly Secret[]
  /** Where generated secrets are added. */
  readonly secrets: Map<string, Secret>
}

/** The order of the secrets does not count: processes with other orders do not overwrite each other. */
function clientEntry({ context, client, further, secrets }: ClientEntryOptions): DeclarationEntry<NewClient> {
  const { client_id: id, client_secret, plan, ...members } = client
  const declared = client_secret === undefined ? [] : [client_secret, ...further.map((one) => one.reveal())]
  const secretHashes = declared.map(tokenHash).sort()
  const entry = { ...client, ...(client_secret === undefined ? {} : { client_secret: secretHashes.join(' ') }) }
  return {
    id,
    entry,
    async record() {
      const metadata = parseMetadata(id, members)
      const messages = metadata.logoUri === undefined ? [] : [createLogoMessage(context, id)]
      const common = { id, plan, metadata, messages }
      if (client_secret !== undefined) return { ...common, secretHashes }
      if (isPublic(metadata) || metadata.authMethods.includes('private_key_jwt')) {
        return { ...common, secretHashes: [] }
      }
      const generated = randomToken()
      secrets.set(id, new Secret(generated))
      return { ...common, secretHashes: undefined, firstSecretHash: tokenHash(generated) }
    },
  }
}

function connectionEntry(
  { encryptionKey }: SeedContext,
  connection: ConnectionDeclaration,
): DeclarationEntry<NewConnection> {
  const { id } = connection
  const { settings, secrets } = splitSecrets(connection)
  const hashes = Object.values(secrets).map(tokenHash)
  return {
    id,
    entry: { ...settings, secrets: hashes },
    record: async () => ({ id, settings, secretSealed: sealSecrets(encryptionKey, id, secrets) }),
  }
}

function requireNoConnectionFaults(connections: readonly ConnectionDeclaration[], loopback: boolean): void {
  const faults = connections.flatMap((connection) =>
    findConnectionFaults(connection, loopback).map(
      ({ pointer, detail }) => `connection ${connection.id}: ${pointer.slice(1)} ${detail}`,
    ),
  )
  const ids = connections.map(({ id }) => id)
  faults.push(...ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `connection ${id} is declared twice`))
  if (faults.length > 0) throw new StartError(faults.join('\n'))
}

function userEntry(
  context: SeedContext,
  user: UserDeclaration,
  secrets: Map<string, Secret>,
): DeclarationEntry<NewUser> {
  const { password, ...entry } = user
  const mac = new MacKey(context.encryptionKey, 'declared password')
  const known = {
    id: user.id,
    username: normalizeName(user.username ?? user.id),
    plan: user.plan ?? context.defaultPlan,
    email: user.email,
    emailVerified: user.email_verified ?? false,
    roles: user.roles ?? [],
    claims: user.claims ?? {},
  }
  return {
    id: user.id,
    entry: password === undefined ? entry : { ...entry, password: mac.sign(password) },
    previousEntries:
      password === undefined ? [] : mac.signWithPrevious(password).map((one) => ({ ...entry, password: one })),
    async record(current) {
      if (password === undefined) {
        const generated = context.passwordPolicy.generate()
        secrets.set(user.id, new Secret(generated))
        return { ...known, passwordHash: undefined, firstPasswordHash: await context.passwords.hash(generated) }
      }
      const stays = current !== undefined && (await context.passwords.verify(password, current))
      return { ...known, passwordHash: stays ? undefined : await context.passwords.hash(password) }
    },
  }
}

/** A policy that the file gives a client is one of the file or a built-in one. */
function requireNoPolicyFaults(clients: readonly ClientDeclaration[], rules: LimitRules | undefined): void {
  const bound = clients.flatMap(({ client_id: id, policy }) => (policy === undefined ? [] : [{ id, policy }]))
  const faults = bound.flatMap(({ id, policy }) => {
    const fault = rules && findLimitFault(rules.file.document, policy)
    return fault === undefined ? [] : [`client ${id}: policy: ${fault}`]
  })
  if (bound.length > maxClientPolicies) faults.push(`at most ${maxClientPolicies} clients have a policy`)
  if (faults.length > 0) throw new StartError(faults.join('\n'))
}

function requireNoFaults(
  rule: PasswordPolicy,
  clients: readonly ClientDeclaration[],
  users: readonly UserDeclaration[],
): void {
  const faults = clients.flatMap((client) =>
    findDeclaredClientFaults(client).map(
      ({ pointer, detail }) => `client ${client.client_id}: ${pointer.slice(1).replaceAll('/', '.')} ${detail}`,
    ),
  )
  for (const { id, roles = [] } of users) {
    const wrong = roles.map((role, index) => ({ index, detail: checkUserRole(role) }))
    const named = wrong.filter(({ detail }) => detail !== undefined)
    faults.push(...named.map(({ index, detail }) => `user ${id}: roles.${index} ${detail}`))
  }
  faults.push(...users.flatMap((user) => findUserFaults(rule, user)))
  for (const [what, ids] of [
    ['client', clients.map((client) => client.client_id)],
    ['user', users.map((user) => user.id)],
  ] as const) {
    const twice = ids.filter((id, index) => ids.indexOf(id) !== index)
    faults.push(...twice.map((id) => `${what} ${id} is declared twice`))
  }
  if (faults.length > 0) throw new StartError(faults.join('\n'))
}

/** Faults that the schema of a declaration can't express, or of declarations that were not validated. */
function findUserFaults(rule: PasswordPolicy, { id, username = id, email, password }: UserDeclaration): string[] {
  const reason = password === undefined ? undefined : rule.describeFault(password, { username, email })
  return [
    ...(email === undefined || isEmailAddress(email) ? [] : [`user ${id}: email ${emailAddressExpected}`]),
    ...(reason === undefined ? [] : [`user ${id}: password ${reason}`]),
  ]
}
