import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { ImportedUser } from '../../../config/declarations.ts'
import { type AdminAccess, describeRoute } from '../../required-scope.ts'
import { adminScopes } from '../../scopes.ts'
import { importUsers, maxImportedUsers } from './import-users.ts'

const body = Type.Object(
  { users: Type.Array(ImportedUser, { minItems: 1, maxItems: maxImportedUsers }) },
  { additionalProperties: false },
)

const results = Type.Object(
  {
    results: Type.Array(
      Type.Object({
        id: Type.String(),
        outcome: Type.Unsafe<string>({ type: 'string', enum: ['created', 'exists', 'refused'] }),
        reason: Type.Optional(Type.String({ description: 'Why the user was refused.' })),
      }),
    ),
  },
  { title: 'ImportResults', description: 'What became of each user, in their order.' },
)

/** 500 users with claims of their own. */
const bodyLimit = 4 * 1024 * 1024

/** Import of users with the hashes of their passwords. */
export function importRoutes(http: Http, { context, requireRecentSignIn }: AdminAccess): void {
  const schema = { ...describeRoute('users.import', adminScopes.users, results), body }
  http.post('/admin/v1/user-imports', { schema, bodyLimit }, async (request) => {
    const by = await requireRecentSignIn(request, adminScopes.users)
    return { results: await importUsers(context, by, request.body.users) }
  })
}
