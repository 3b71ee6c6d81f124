import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

interface WaitingStateProps {
  readonly dueAt: string | undefined
  readonly isUnderWay: boolean
  /** How often it could not be accepted. */
  readonly failures?: number
}

/** Whether something waits for its time, or why it is past due. */
export function WaitingState({ dueAt, isUnderWay, failures = 0 }: WaitingStateProps) {
  const t = useTexts()
  if (failures > 0) return <State tone="bad">{t.scheduled.failing(failures)}</State>
  if (isUnderWay) return <State tone="good">{t.scheduled.underWay}</State>
  const isLate = dueAt !== undefined && Date.parse(dueAt) <= Date.now()
  return <State tone={isLate ? 'careful' : 'neutral'}>{isLate ? t.scheduled.late : t.scheduled.waits}</State>
}
