import { endSessionOf, listConsents, listSessions, withdrawConsent } from './admin/access.ts'
import { createApiKey, listApiKeys, removeApiKey } from './admin/api-keys.ts'
import { changeClient, createClient, listClients, removeClient, renewSecret } from './admin/clients.ts'
import { listSigningKeys, type SigningKeyAnswer } from './admin/signing-keys.ts'
import { changeUser, createUser, listUsers, removeUser, renewPassword, setPassword } from './admin/users.ts'
import { audit } from './audit.ts'
import type { SigningAlgorithm } from './client.ts'
import { recipientMessage } from './messages.ts'
import type { Parts } from './parts.ts'

type Bound<Operation> = Operation extends (parts: Parts, ...rest: infer Rest) => infer Answer
  ? (...rest: Rest) => Answer
  : never

/** Management as functions, for the command line. They throw the `Problem` that the API would answer. */
export interface Management {
  readonly listClients: Bound<typeof listClients>
  readonly createClient: Bound<typeof createClient>
  readonly changeClient: Bound<typeof changeClient>
  readonly renewSecret: Bound<typeof renewSecret>
  readonly removeClient: Bound<typeof removeClient>
  readonly listUsers: Bound<typeof listUsers>
  readonly createUser: Bound<typeof createUser>
  readonly changeUser: Bound<typeof changeUser>
  readonly setPassword: Bound<typeof setPassword>
  readonly renewPassword: Bound<typeof renewPassword>
  readonly removeUser: Bound<typeof removeUser>
  readonly listConsents: Bound<typeof listConsents>
  readonly withdrawConsent: Bound<typeof withdrawConsent>
  readonly listSessions: Bound<typeof listSessions>
  readonly endSession: Bound<typeof endSessionOf>
  readonly listApiKeys: Bound<typeof listApiKeys>
  readonly createApiKey: Bound<typeof createApiKey>
  readonly removeApiKey: Bound<typeof removeApiKey>
  listKeys(): SigningKeyAnswer[]
  /** Signs with a new key from now on; answers its kid. */
  rotateKey(alg: SigningAlgorithm, compromised?: boolean): Promise<string>
  /** Tells the notification service about every user again; answers how many. */
  resyncRecipients(): Promise<number>
}

export function managementOf(parts: Parts): Management {
  const noted = <Rest extends unknown[], Answer>(
    action: string,
    operation: (parts: Parts, ...rest: Rest) => Promise<Answer>,
  ) => {
    return async (...rest: Rest): Promise<Answer> => {
      const answer = await operation(parts, ...rest)
      await audit(parts, undefined, 'management', { actor: 'command line', details: { action, about: idOf(rest[0]) } })
      return answer
    }
  }
  return {
    listClients: (after, most) => listClients(parts, after, most),
    createClient: noted('client created', createClient),
    changeClient: noted('client changed', changeClient),
    renewSecret: noted('client secret renewed', renewSecret),
    removeClient: noted('client deleted', removeClient),
    listUsers: (after, most) => listUsers(parts, after, most),
    createUser: noted('user created', createUser),
    changeUser: noted('user changed', changeUser),
    setPassword: noted('password set', setPassword),
    renewPassword: noted('password set', renewPassword),
    removeUser: noted('user deleted', removeUser),
    listConsents: (userId) => listConsents(parts, userId),
    withdrawConsent: noted('consent withdrawn', withdrawConsent),
    listSessions: (userId) => listSessions(parts, userId),
    endSession: noted('session ended', endSessionOf),
    listApiKeys: (after, most) => listApiKeys(parts, after, most),
    createApiKey: noted('api key created', createApiKey),
    removeApiKey: noted('api key removed', removeApiKey),
    listKeys: () => listSigningKeys(parts),
    async rotateKey(alg, compromised = false) {
      const kid = await parts.keys.rotate(alg, compromised)
      await audit(parts, undefined, 'key_rotated', { actor: 'command line', details: { alg, kid, compromised } })
      return kid
    },
    resyncRecipients: () => resyncRecipients(parts),
  }
}

function idOf(about: unknown): unknown {
  if (typeof about === 'string') return about
  const { id, client_id, owner } = (about ?? {}) as Record<string, unknown>
  return id ?? client_id ?? owner
}

const readAtOnce = 500

async function resyncRecipients(parts: Parts): Promise<number> {
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
