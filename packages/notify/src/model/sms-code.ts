/**
 * The codes of failed SMS that are counted by themselves: those of Twilio about a message or number
 * (twilio.com/docs/api/errors), and HTTP statuses of services that have none. A provider may answer anything, and there is
 * no end of it.
 */
const codes: ReadonlySet<string> = new Set([
  '21211',
  '21214',
  '21217',
  '21408',
  '21421',
  '21602',
  '21608',
  '21610',
  '21612',
  '21614',
  '21617',
  '30001',
  '30002',
  '30003',
  '30004',
  '30005',
  '30006',
  '30007',
  '30008',
  '30010',
  '30017',
  '30018',
  '30019',
  '30022',
  '30023',
  '30024',
  '30032',
  '30034',
  '30036',
  '30410',
  '30450',
  '30453',
  '400',
  '404',
  '410',
  '413',
  '415',
  '422',
])

/** The code of a failed SMS as it is counted: `none` where the provider has none, `other` for all that are not known. */
export function countedSmsCode(code: string | undefined): string {
  if (code === undefined) return 'none'
  return codes.has(code) ? code : 'other'
}
