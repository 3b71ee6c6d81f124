import { needsSignIn } from '../../api/problem.ts'
import { useTexts } from '../../texts/settings.tsx'
import { Dialog } from '../dialog.tsx'
import { Refusal } from './refusal.tsx'

interface SignInAgainProps {
  readonly error: Error | null
  readonly close: () => void
}

/** Where a button by itself was refused, since it requires a recent sign-in: the way to it. */
export function SignInAgain({ error, close }: SignInAgainProps) {
  const t = useTexts()
  return (
    <Dialog title={t.confirm.again} open={needsSignIn(error)} close={close}>
      <Refusal error={error} />
    </Dialog>
  )
}
