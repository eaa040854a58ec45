"""Draw the page of classes: the forms to open and join one, or the view of its teacher or learner."""

from pages.classroom import join_form, learner_view, membership, teacher_key, teacher_view
from pages.frame import page

page.header("class_room")
teacher_key.read_key()
member = membership.get_membership()
if member is None:
    join_form.draw()
elif member.leads:
    teacher_view.draw(member)
else:
    learner_view.draw(member)
