import { State } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'

/** Whether a user can sign in. */
export function LockState({ locked }: { locked: boolean }) {
  const t = useTexts()
  return <State tone={locked ? 'bad' : 'good'}>{locked ? t.users.locked : t.users.active}</State>
}
