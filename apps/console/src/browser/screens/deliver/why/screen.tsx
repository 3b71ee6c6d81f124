import { useEffect, useState } from 'react'
import { useFilters } from '../../../api/filters.ts'
import { useAction } from '../../../api/queries.ts'
import { Page } from '../../../parts/page.tsx'
import { Failed } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { Explained } from './explained.tsx'
import { Past } from './past.tsx'
import type { Question } from './question.ts'
import { QuestionForm } from './question-form.tsx'

/** Why a user got something or not: every check now, beside what happened before. */
export function WhyScreen() {
  const t = useTexts()
  const [{ event, user }, remember] = useFilters(['event', 'user'])
  const explain = useAction('explain')
  const [question, setQuestion] = useState<Question | undefined>(
    event && user ? { event, user_id: user, data: {} } : undefined,
  )
  const { mutate } = explain
  // An address with both is a question already.
  useEffect(() => {
    if (question !== undefined) mutate(question)
  }, [question, mutate])
  const ask = (asked: Question) => {
    remember({ event: asked.event, user: asked.user_id })
    setQuestion(asked)
  }
  return (
    <Page title={t.sections.why} lead={t.why.lead}>
      <QuestionForm event={event} user={user} ask={ask} isPending={explain.isPending} />
      {explain.error !== null && question !== undefined && (
        <Failed action="explain" error={explain.error} retry={() => mutate(question)} />
      )}
      {question !== undefined && (
        <div className="beside">
          <div>
            {explain.data !== undefined && explain.variables !== undefined && (
              <Explained explanation={explain.data} question={explain.variables} />
            )}
          </div>
          <Past event={question.event} user={question.user_id} isEventKnown={explain.data !== undefined} />
        </div>
      )}
    </Page>
  )
}
