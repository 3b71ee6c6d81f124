import type { Http } from '@gatehouse/kit'
import { Type } from 'typebox'
import { userClaims } from '../../model/user.ts'
import { type AdminAccess, byId, describeRoute } from '../required-scope.ts'
import { revealedSchema } from '../responses.ts'
import { mailUserLink, revealMembers } from './support.ts'

const path = '/admin/v1/users/:id'
const mailScope = 'write:account-mail'
const revealScope = 'reveal:personal-data'

const Mail = Type.Object(
  {
    kind: Type.Unsafe<'verify' | 'reset'>({
      type: 'string',
      enum: ['verify', 'reset'],
      description: 'The link: verify the email address, or choose a new password.',
    }),
  },
  { additionalProperties: false },
)

const Reveal = Type.Object(
  {
    fields: Type.Array(Type.Unsafe<string>({ type: 'string', enum: ['username', ...userClaims] }), {
      minItems: 1,
      maxItems: 30,
      uniqueItems: true,
    }),
    reason: Type.String({ minLength: 3, maxLength: 500, description: 'Kept in the audit trail.' }),
  },
  { additionalProperties: false },
)

/** Support for a user: mails with a link, and single members of personal data for a reason. */
export function supportRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const mail = { ...describeRoute('users.sendMail', mailScope), params: byId, body: Mail }
  http.post(`${path}/mail`, { schema: mail }, async (request, reply) => {
    const by = await requireScope(request, mailScope)
    await mailUserLink(context, by, request.params.id, request.body.kind)
    return reply.code(204).send()
  })
  const single = { ...describeRoute('users.reveal', revealScope, revealedSchema), params: byId, body: Reveal }
  http.post(`${path}/reveal`, { schema: single }, async (request) => {
    const by = await requireScope(request, revealScope)
    return revealMembers(context, by, request.params.id, request.body)
  })
}
