import type { Parts } from '../context/context.ts'
import { recipientMessage } from '../mail/messages.ts'
import { type Authority, commandLine, record } from './authority.ts'
import { changeClient, createClient, listClients, removeClient, renewSecret } from './clients/clients.ts'
import { createApiKey, listApiKeys, removeApiKey } from './keys/api-keys.ts'
import { listSigningKeys, rotateKey, type SigningKeyAnswer } from './keys/signing-keys.ts'
import { listAdministrators } from './roles/roles.ts'
import { endSessionOf, listConsents, listSessions, withdrawConsent } from './users/access.ts'
import { changeRole, changeUser, createUser, listUsers, removeUser, renewPassword, setPassword } from './users/users.ts'

/** An operation that reads. */
type Bound<Operation> = Operation extends (parts: Parts, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never

/** An operation that changes something, on the authority of the command line. */
type Acting<Operation> = Operation extends (parts: Parts, by: Authority, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never

/** Management as functions, for the command line. They throw the `Problem` that the API would answer. */
export interface Management {
  readonly listClients: Bound<typeof listClients>
  readonly createClient: Acting<typeof createClient>
  readonly changeClient: Acting<typeof changeClient>
  readonly renewSecret: Acting<typeof renewSecret>
  readonly removeClient: Acting<typeof removeClient>
  readonly listUsers: Bound<typeof listUsers>
  readonly createUser: Acting<typeof createUser>
  readonly changeUser: Acting<typeof changeUser>
  readonly setPassword: Acting<typeof setPassword>
  readonly renewPassword: Acting<typeof renewPassword>
  readonly removeUser: Acting<typeof removeUser>
  readonly changeRole: Acting<typeof changeRole>
  readonly listAdministrators: Bound<typeof listAdministrators>
  readonly listConsents: Bound<typeof listConsents>
  readonly withdrawConsent: Acting<typeof withdrawConsent>
  readonly listSessions: Bound<typeof listSessions>
  readonly endSession: Acting<typeof endSessionOf>
  readonly listApiKeys: Bound<typeof listApiKeys>
  readonly createApiKey: Acting<typeof createApiKey>
  readonly removeApiKey: Acting<typeof removeApiKey>
  listKeys(): SigningKeyAnswer[]
  /** Signs with a new key from now on; answers its kid. */
  readonly rotateKey: Acting<typeof rotateKey>
  /** Tells the notification service about every user again; answers how many. */
  resyncRecipients(): Promise<number>
}

export function managementOf(parts: Parts): Management {
  const acting = <Rest extends unknown[], Answer>(
    operation: (parts: Parts, by: Authority, ...rest: Rest) => Promise<Answer>,
  ) => {
    return (...rest: Rest): Promise<Answer> => operation(parts, commandLine, ...rest)
  }
  return {
    listClients: (after, most) => listClients(parts, after, most),
    createClient: acting(createClient),
    changeClient: acting(changeClient),
    renewSecret: acting(renewSecret),
    removeClient: acting(removeClient),
    listUsers: (after, most) => listUsers(parts, after, most),
    createUser: acting(createUser),
    changeUser: acting(changeUser),
    setPassword: acting(setPassword),
    renewPassword: acting(renewPassword),
    removeUser: acting(removeUser),
    changeRole: acting(changeRole),
    listAdministrators: () => listAdministrators(parts),
    listConsents: (userId) => listConsents(parts, userId),
    withdrawConsent: acting(withdrawConsent),
    listSessions: (userId) => listSessions(parts, userId),
    endSession: acting(endSessionOf),
    listApiKeys: (after, most) => listApiKeys(parts, after, most),
    createApiKey: acting(createApiKey),
    removeApiKey: acting(removeApiKey),
    listKeys: () => listSigningKeys(parts),
    rotateKey: acting(rotateKey),
    resyncRecipients: () => resyncRecipients(parts),
  }
}

const readAtOnce = 500

async function resyncRecipients(parts: Parts): Promise<number> {
  await record(parts, commandLine, { action: 'recipients.resync', target: { type: 'recipients', id: '*' } })
  let count = 0
  let after = ''
  for (;;) {
    const users = await parts.store.users.list(after, readAtOnce)
    await parts.store.outbox.put(users.map((user) => recipientMessage(parts, user.id)))
    count += users.length
    after = users.at(-1)?.id ?? after
    if (users.length < readAtOnce) break
  }
  parts.wakeOutbox()
  return count
}
