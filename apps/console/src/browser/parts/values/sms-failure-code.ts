/** The five digits of an error of Twilio in an answer or a report; undefined where there are none. */
export function smsFailureCode(answer: string): string | undefined {
  return /(?:"code": ?|\berror )(\d{5})\b/.exec(answer)?.[1]
}
