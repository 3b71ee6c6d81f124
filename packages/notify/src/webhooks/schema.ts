import { problemAnswer } from '@gatehouse/kit'
import { Type } from 'typebox'
import { describeOperation } from '../request/route-options.ts'

/** POST /v1/webhooks/{provider} */
export const receiveWebhook = describeOperation('webhooks.receive', {
  params: Type.Object({ provider: Type.String({ maxLength: 64, description: 'The name of the provider.' }) }),
  body: { content: { '*/*': { schema: Type.Unsafe({ description: 'As the provider sends it.' }) } } },
  response: {
    204: Type.Null({ description: 'The reports are stored.' }),
    403: problemAnswer('The signature is missing or invalid.'),
    429: problemAnswer('The signature cannot be checked at this moment, or a limit is exceeded.'),
  },
})
