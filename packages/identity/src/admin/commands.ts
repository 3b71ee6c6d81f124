import type { AdminContext } from '../context/features.ts'
import { createRecipientMessage } from '../mail/messages.ts'
import { type Authority, auditChange, commandLine } from './authority.ts'
import { createClient, deleteClient, listClients, rotateSecret, updateClient } from './clients/clients.ts'
import { createConnection, deleteConnection, listConnections, updateConnection } from './connections/connections.ts'
import { createApiKey, deleteApiKey, listApiKeys, rotateApiKey } from './keys/api-keys.ts'
import { listSigningKeys, rotateSigningKey, type SigningKeyResponse } from './keys/signing-keys.ts'
import { createOrganizationCommands, type OrganizationCommands } from './organizations/commands.ts'
import { listAdministrators } from './roles/roles.ts'
import { endSessionsOfUser } from './sessions/sessions.ts'
import { endUserSession, listConsents, listSessions, withdrawConsent } from './users/access.ts'
import { readFactors, resetFactors } from './users/factors.ts'
import { importUsers } from './users/import/import-users.ts'
import { listLinkedProviders, removeLinkedProvider } from './users/linked-providers.ts'
import { generatePassword, setPassword } from './users/passwords.ts'
import { searchUsers } from './users/search.ts'
import { changeRole, createUser, deleteUser, type UserResponse, updateUser } from './users/users.ts'

/** A read operation. */
type WithoutContext<Operation> = Operation extends (context: AdminContext, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never

/** A change, with the authority of the command line. */
type WithAuthority<Operation> = Operation extends (
  context: AdminContext,
  by: Authority,
  ...rest: infer Rest
) => infer Answer
  ? (...rest: Rest) => Answer
  : never

/** Management as functions for the command line. They throw the `Problem` that the API would return. */
export interface Management extends OrganizationCommands {
  readonly listClients: WithoutContext<typeof listClients>
  readonly createClient: WithAuthority<typeof createClient>
  readonly updateClient: WithAuthority<typeof updateClient>
  readonly rotateSecret: WithAuthority<typeof rotateSecret>
  readonly deleteClient: WithAuthority<typeof deleteClient>
  readonly listConnections: WithoutContext<typeof listConnections>
  readonly createConnection: WithAuthority<typeof createConnection>
  readonly updateConnection: WithAuthority<typeof updateConnection>
  readonly deleteConnection: WithAuthority<typeof deleteConnection>
  /** Users in the order of their ids. */
  listUsers(after: string, limit: number): Promise<UserResponse[]>
  readonly createUser: WithAuthority<typeof createUser>
  readonly importUsers: WithAuthority<typeof importUsers>
  readonly updateUser: WithAuthority<typeof updateUser>
  readonly setPassword: WithAuthority<typeof setPassword>
  readonly generatePassword: WithAuthority<typeof generatePassword>
  readonly deleteUser: WithAuthority<typeof deleteUser>
  readonly changeRole: WithAuthority<typeof changeRole>
  readonly listAdministrators: WithoutContext<typeof listAdministrators>
  readonly listConsents: WithoutContext<typeof listConsents>
  readonly withdrawConsent: WithAuthority<typeof withdrawConsent>
  readonly listSessions: WithoutContext<typeof listSessions>
  readonly endSession: WithAuthority<typeof endUserSession>
  readonly endSessions: WithAuthority<typeof endSessionsOfUser>
  readonly listLinkedProviders: WithoutContext<typeof listLinkedProviders>
  readonly removeLinkedProvider: WithAuthority<typeof removeLinkedProvider>
  readonly readFactors: WithoutContext<typeof readFactors>
  readonly resetFactors: WithAuthority<typeof resetFactors>
  readonly listApiKeys: WithoutContext<typeof listApiKeys>
  readonly createApiKey: WithAuthority<typeof createApiKey>
  readonly rotateApiKey: WithAuthority<typeof rotateApiKey>
  readonly deleteApiKey: WithAuthority<typeof deleteApiKey>
  listSigningKeys(): SigningKeyResponse[]
  /** Creates a new signing key and returns its kid. */
  readonly rotateSigningKey: WithAuthority<typeof rotateSigningKey>
  /** Sends every user to the notification service again; returns how many. */
  resyncRecipients(): Promise<number>
}

/** Binds the operations of management to a context. */
export function createManagement(context: AdminContext): Management {
  const asCommandLine = <Rest extends unknown[], Answer>(
    operation: (context: AdminContext, by: Authority, ...rest: Rest) => Promise<Answer>,
  ) => {
    return (...rest: Rest): Promise<Answer> => operation(context, commandLine, ...rest)
  }
  return {
    listClients: (after, limit) => listClients(context, after, limit),
    createClient: asCommandLine(createClient),
    updateClient: asCommandLine(updateClient),
    rotateSecret: asCommandLine(rotateSecret),
    deleteClient: asCommandLine(deleteClient),
    listConnections: () => listConnections(context),
    createConnection: asCommandLine(createConnection),
    updateConnection: asCommandLine(updateConnection),
    deleteConnection: asCommandLine(deleteConnection),
    listUsers: (after, limit) => searchUsers(context, {}, after, limit),
    createUser: asCommandLine(createUser),
    importUsers: asCommandLine(importUsers),
    updateUser: asCommandLine(updateUser),
    setPassword: asCommandLine(setPassword),
    generatePassword: asCommandLine(generatePassword),
    deleteUser: asCommandLine(deleteUser),
    changeRole: asCommandLine(changeRole),
    listAdministrators: () => listAdministrators(context),
    listConsents: (userId) => listConsents(context, userId),
    withdrawConsent: asCommandLine(withdrawConsent),
    listSessions: (userId) => listSessions(context, userId),
    endSession: asCommandLine(endUserSession),
    endSessions: asCommandLine(endSessionsOfUser),
    listLinkedProviders: (userId) => listLinkedProviders(context, userId),
    removeLinkedProvider: asCommandLine(removeLinkedProvider),
    readFactors: (userId) => readFactors(context, userId),
    resetFactors: asCommandLine(resetFactors),
    ...createOrganizationCommands(context),
    listApiKeys: (before, limit) => listApiKeys(context, before, limit),
    createApiKey: asCommandLine(createApiKey),
    rotateApiKey: asCommandLine(rotateApiKey),
    deleteApiKey: asCommandLine(deleteApiKey),
    listSigningKeys: () => listSigningKeys(context),
    rotateSigningKey: asCommandLine(rotateSigningKey),
    resyncRecipients: () => resyncRecipients(context),
  }
}

const pageSize = 500

async function resyncRecipients(context: AdminContext): Promise<number> {
  await auditChange(context, commandLine, { action: 'recipients.resync', target: { type: 'recipients', id: '*' } })
  let count = 0
  let after = ''
  for (;;) {
    const users = await context.store.users.list(after, pageSize)
    await context.store.outbox.put(users.map((user) => createRecipientMessage(context, user.id)))
    count += users.length
    after = users.at(-1)?.id ?? after
    if (users.length < pageSize) break
  }
  context.signalOutbox()
  return count
}
