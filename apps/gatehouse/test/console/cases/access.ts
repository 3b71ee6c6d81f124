import type { access as actions } from '@gatehouse/console/actions'
import { type Cases, keys } from './case.ts'

/** A call for each action of this part. */
export const access: Cases<keyof typeof actions> = {
  listClients: () => ({}),
  readClient: () => ({ params: { id: 'setup' } }),
  rotateSecret: (role) => ({ params: { id: `client-of-${role}` } }),
  deleteClient: (role) => ({ params: { id: `client-of-${role}` } }),
  listApiKeys: () => ({}),
  createApiKey: (role) => ({ body: { owner: 'target', name: `made by ${role}` } }),
  revokeApiKey: (role) => ({ params: { id: keys.get(role) ?? '' } }),
  listSigningKeys: () => ({}),
}

/** What has nothing to act on here: the API gets as far as to look for it. */
export const accessMayFindNothing: readonly (keyof typeof actions)[] = []
