import { htmlAnswer, problemAnswer } from '@gatehouse/kit'
import { Type } from 'typebox'
import { describeOperation } from '../request/route-options.ts'

const params = Type.Object({ token: Type.String({ maxLength: 1_024, description: 'The signed part of the link.' }) })
const page = { 200: htmlAnswer('The page.'), 404: htmlAnswer('A page that says that this link does not exist.') }
const response: object = page

/** GET /unsubscribe/{token} */
export const showUnsubscribe = describeOperation('unsubscribePage.show', { params, response })

/** POST /unsubscribe/{token} */
export const submitUnsubscribe = describeOperation('unsubscribePage.submit', { params, response })

/** GET /preferences/{token} */
export const showPreferences = describeOperation('preferencesPage.show', { params, response })

/** POST /preferences/{token} */
export const savePreferences = describeOperation('preferencesPage.submit', {
  params,
  response: {
    ...page,
    403: htmlAnswer('A page: the form came from another site.'),
    415: problemAnswer('The body is not a form.'),
  } as object,
})
