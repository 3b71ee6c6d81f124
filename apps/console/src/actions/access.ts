import { accountable, dangerous, editors, everybody, read } from './action.ts'

/** What is done with clients and keys. */
export const access = {
  listClients: read('clients.list', everybody),
  readClient: read('clients.get', everybody),
  rotateSecret: dangerous('clients.rotateSecret', editors, 'clients.get'),
  deleteClient: dangerous('clients.delete', editors, 'clients.list', 'clients.get'),
  listApiKeys: read('apiKeys.list', everybody),
  createApiKey: dangerous('apiKeys.create', editors, 'apiKeys.list'),
  revokeApiKey: dangerous('apiKeys.delete', editors, 'apiKeys.list'),
  listSigningKeys: read('signingKeys.list', accountable),
}
