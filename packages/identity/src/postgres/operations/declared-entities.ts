import type { DeclaredEntity } from '@gatehouse/kit'

const entity = (kind: string, table: string): DeclaredEntity => ({
  schema: 'identity',
  kind,
  table: `identity.${table}`,
  match: 'e.id = d.id',
  changedAt: 'e.updated_at',
})

/** What the file declares for identity and administrators change, where it tells when. */
export const identityDeclared: readonly DeclaredEntity[] = [
  entity('client', 'client'),
  entity('user', 'account'),
  entity('organization', 'organization'),
  entity('connection', 'connection'),
]
