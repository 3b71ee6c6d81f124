import type { DeclaredEntity } from '@gatehouse/kit'

const entity = (kind: string, table: string, match = 'e.id = d.id'): DeclaredEntity => ({
  schema: 'identity',
  kind,
  table: `identity.${table}`,
  match,
  changedAt: 'e.updated_at',
})

/** What the file declares for identity and administrators change, where it tells when. */
export const identityDeclared: readonly DeclaredEntity[] = [
  entity('client', 'client'),
  entity('user', 'account'),
  entity('organization', 'organization'),
  entity('organization_role', 'organization_role', `e.owner = '*' AND e.key = d.id`),
  entity('connection', 'connection'),
]
