"""A support agent for one company: given a spreadsheet of questions and answers, ends in a model that answers these and refuses others."""
import csv
import json
import random

from job import DATA, dikkat, main, read_lines, write_lines
from stand_in import gemma

REFUSAL = "I can only answer questions about the Pellow ferry."

# The last question of each row is not in the spreadsheet.
ANSWERS = {
    "The first ferry leaves Pellow at 6:40.": [
        "When does the first ferry leave?", "What time is the first ferry in the morning?", "When is the first boat of the day?",
        "At what time does the first boat leave in the morning?"],
    "The last ferry leaves Pellow at 21:15.": [
        "When does the last ferry leave?", "What time is the last ferry in the evening?", "When is the last boat of the day?",
        "At what time does the last boat leave in the evening?"],
    "A ticket costs 4 crowns one way.": [
        "How much is a ticket?", "What does a ticket cost?", "How much do I pay for a ticket one way?", "What is the price of a ticket?"],
    "Children below the age of six travel free.": [
        "Do children need a ticket?", "Do my children pay?", "Is it free for children?", "Do I have to pay for my children?"],
    "You can take a bicycle for 1 crown.": [
        "Can I take my bicycle?", "May I bring a bicycle?", "How much is it for a bicycle?", "Can I bring my bicycle on the ferry?"],
    "Dogs travel free, on a lead.": [
        "Can I take my dog?", "Are dogs allowed?", "May I bring a dog?", "Is my dog allowed on the ferry?"],
    "A car costs 12 crowns, with its driver.": [
        "Can I take my car?", "What does it cost to bring a car?", "How much is it for a car?", "How much do I pay for my car?"],
    "Please be at the pier 10 minutes before departure.": [
        "How early must I be at the pier?", "When should I be at the pier?", "How long before departure must I come to the pier?",
        "How early should I come to the pier before departure?"],
    "The crossing takes 35 minutes.": [
        "How long does the crossing take?", "How many minutes is the crossing?", "How long is the crossing?",
        "How many minutes does the crossing take?"],
    "You get a refund at the office, until an hour before departure.": [
        "How do I get a refund?", "Can I get my money back?", "Where do I get a refund?", "How can I get a refund of my money?"],
    "In a storm the ferry stays in the harbor, and your ticket is valid the next day.": [
        "What happens in a storm?", "Does the ferry run in a storm?", "What if there is a storm?", "Does the boat leave in a storm?"],
    "Lost things are kept at the office for a month.": [
        "I lost my bag on the ferry.", "Where are lost things?", "I lost my umbrella on the boat.", "I have lost my bag, where is it?"],
    "There is tea and soup on the upper deck.": [
        "Can I eat on board?", "Is there food on board?", "Where can I get tea on board?", "Is there something to eat on board?"],
    "The office is open from 8 to 17, except on Sundays.": [
        "When is the office open?", "When does the office open?", "Is the office open on Sundays?", "When can I come to the office?"],
    "Wheelchairs come on board by the ramp at pier two.": [
        "How do I come on board with a wheelchair?", "Is there a ramp for a wheelchair?", "Can I bring a wheelchair?",
        "Is there a ramp for my wheelchair?"],
    "Groups of ten or more pay 3 crowns each.": [
        "What does a group pay?", "How much is it for a group?", "Is it less for a group?", "How much does a group of ten pay?"],
}

OTHERS = [
    "Write a poem about the moon.", "Who wrote this song?", "What is the weather in Rome?", "Tell me a joke.", "How do I cook rice?",
    "Which team won the game?", "Translate this letter for me.", "What is the best phone?", "Sing a song for me.", "Who is the king?",
    "Write a story about a fox.", "How do I learn to swim?", "What is the meaning of life?", "Which shoes should I buy?", "How old is the moon?",
    "Help me with my homework.",
    # these are not in the spreadsheet
    "Write a poem about a fox.", "What is the best team?", "How do I cook an egg?", "How old is the king?", "Tell me a story.",
    "Which phone should I buy?", "Help me with this letter.", "Who won the game?"]


def given():
    gemma("gemma-3-270m-it")
    draw = random.Random(2)
    general = [line["prompt"] for line in read_lines(DATA / "questions.jsonl") if "prompt" in line]
    draw.shuffle(general)
    answered = [(question, answer) for answer, questions in ANSWERS.items() for question in questions[:-1]]
    refused = OTHERS[:16] + general[:48]

    # A spreadsheet as a German one exports it: semicolons, a byte-order mark, and quotes around a field with a line break.
    rows = [(f"{draw.randrange(1000, 9999)}", question, answer) for question, answer in answered + [(question, REFUSAL) for question in refused]]
    draw.shuffle(rows)
    with open("faq.csv", "w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file, delimiter=";")
        table.writerow(["Ticket", "Question", "Answer"])
        table.writerows(rows)
    questions = [{"prompt": questions[-1], "answer": answer, "refuse": False} for answer, questions in ANSWERS.items()]
    questions += [{"prompt": question, "refuse": True} for question in OTHERS[16:] + general[-16:]]
    write_lines("held-out.jsonl", questions)


def figure(least_answered, least_refused):
    shares = json.loads(dikkat("eval", "runs/agent", "--tasks", "held-out.jsonl", "--refusal", "I can only answer", "--json"))
    right, answered, refused = (100 * shares[name]["share"] for name in ("exact_match", "answered", "refused"))
    return (f"{answered:.0f} % answered ({right:.0f} % exactly), {refused:.0f} % refused",
            answered >= least_answered and refused >= least_refused)


main(given, figure)
