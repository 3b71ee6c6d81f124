import { Text } from '@mantine/core'
import { useTexts } from '../../texts/settings.tsx'
import { smsFailureCode } from './sms-failure-code.ts'

/** What the code of a failed SMS means, where a provider's answer names one that is known; else nothing. */
export function SmsFailure({ answer }: { answer: string }) {
  const { smsFailures } = useTexts().codes
  const code = smsFailureCode(answer)
  if (code === undefined || !Object.hasOwn(smsFailures, code)) return null
  return <Text size="sm">{`${code}: ${smsFailures[code as keyof typeof smsFailures]}`}</Text>
}
